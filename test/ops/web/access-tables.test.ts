import { describe, expect, it, test } from 'vitest';
import { authorize, type AccessDecision } from '../../../src/ops/web/access/authorize.ts';
import {
  allows,
  proxyIdentity,
  ROLES,
  type Identity,
  type Needs,
} from '../../../src/ops/web/access/identity.ts';

const HOST = 'ops.example.test:8443';
const OURS = `https://${HOST}`;

type Origin = Pick<AccessDecision, 'fetchSite' | 'origin' | 'host'>;
const fromOurs = (origin: Origin) =>
  authorize({ needs: 'open', method: 'POST', identity: undefined, ...origin }) === undefined;

describe('where a request comes from', () => {
  test.each([
    ['same-origin', undefined, true],
    ['same-origin', 'null', true],
    ['none', undefined, true],
    ['none', OURS, true],
    ['none', 'https://evil.example.test', false],
    ['same-site', OURS, false],
    ['cross-site', OURS, false],
    ['cross-site', undefined, false],
    ['something-new', undefined, false],
    ['', undefined, false],
    [undefined, OURS, true],
    [undefined, `HTTPS://OPS.example.test:8443`, true],
    [undefined, 'https://ops.example.test', false],
    [undefined, 'https://example.test:8443', false],
    [undefined, 'https://ops.example.test:8443.evil.example.test', false],
    [undefined, 'null', false],
    [undefined, '', false],
    [undefined, 'nonsense', false],
    [undefined, undefined, true],
  ])('Sec-Fetch-Site %s, Origin %s: %s', (fetchSite, origin, answer) => {
    expect(fromOurs({ fetchSite, origin, host: HOST })).toBe(answer);
  });

  it('is not ours where the caller names no host', () => {
    expect(fromOurs({ fetchSite: undefined, origin: OURS, host: undefined })).toBe(false);
  });
});

test('roles and needs', () => {
  const needs: Needs[] = [
    'open',
    'any',
    'viewer',
    'operator',
    'sender',
    'sender-or-operator',
    'closed',
  ];
  const table = ROLES.map((role) => [role, ...needs.filter((need) => allows(role, need))]);
  expect(table).toEqual([
    ['viewer', 'open', 'any', 'viewer'],
    ['operator', 'open', 'any', 'viewer', 'operator', 'sender-or-operator'],
    ['sender', 'open', 'any', 'sender', 'sender-or-operator'],
  ]);
});

describe('who is let in', () => {
  const who = (role: Identity['role'], by: Identity['by'] = 'session'): Identity => ({
    name: 'kim',
    role,
    by,
    seed: '',
  });

  test.each([
    ['cross-site', 'proxy', true, 'CROSS_SITE'],
    ['same-site', 'proxy', true, 'CROSS_SITE'],
    ['cross-site', 'session', true, 'CROSS_SITE'],
    ['cross-site', 'key', true, undefined],
    ['same-origin', 'proxy', true, undefined],
    ['none', 'proxy', true, undefined],
    [undefined, 'proxy', true, undefined],
    // A link in a chat opens a page.
    ['cross-site', 'proxy', false, undefined],
  ] as const)('reads %s, known by %s, data %s', (fetchSite, by, isData, answer) => {
    const origin = { origin: undefined, fetchSite, host: HOST };
    const identity = who('viewer', by);
    expect(authorize({ needs: 'viewer', method: 'GET', identity, isData, ...origin })).toBe(answer);
  });
});

describe('what a trusted proxy says', () => {
  test.each([
    [undefined, undefined, undefined],
    ['', 'operator', undefined],
    ['  ', 'operator', undefined],
    ['kim', undefined, 'viewer'],
    ['kim', 'viewer', 'viewer'],
    ['kim', 'operator', 'operator'],
    ['kim', 'viewer, OPERATOR', 'operator'],
    ['kim', 'staff,viewer', 'viewer'],
    ['kim', '', undefined],
    ['kim', 'admin', undefined],
    ['kim', 'sender', undefined],
    ['kim@example.test', 'viewer', 'viewer'],
    ['김 철수', 'viewer', 'viewer'],
    ['kim\nadmin', 'operator', undefined],
    ['<script>', 'operator', undefined],
    ['k'.repeat(65), 'operator', undefined],
  ])('user %j, roles %j: %s', (user, roles, role) => {
    expect(proxyIdentity(user, roles)?.role).toBe(role);
  });
});
