import { describe, expect, it } from 'vitest';
import { claimAt, personOf } from '../../../../src/ops/web/oidc/claims.ts';

const SETTINGS = {
  roles: 'admins:operator, urn:team:x:viewer, both:viewer, both:operator',
  roleClaim: 'roles',
};

describe('the role of a person', () => {
  it.each([
    [['admins'], 'operator'],
    ['admins', 'operator'],
    [['urn:team:x'], 'viewer'],
    [['urn:team:x', 'admins'], 'operator'],
    [['both'], 'operator'],
    [['Admins'], undefined],
    [['operator'], undefined],
    ['admins, urn:team:x', undefined],
    [[['admins']], undefined],
    [{ admins: true }, undefined],
    [['__proto__', 'constructor'], undefined],
    [[], undefined],
    [true, undefined],
    [undefined, undefined],
  ] as const)('with %j is %s', (roles, role) => {
    const person = personOf({ sub: 'kim', roles }, SETTINGS);
    expect(person).toEqual(
      role === undefined
        ? { refusal: 'no-role', name: 'oidc:kim' }
        : { user: { name: 'oidc:kim', role } },
    );
  });
});

describe('the name of a person', () => {
  it.each([
    [{ sub: '1', email: 'a@example.test', email_verified: true }, undefined, 'oidc:a@example.test'],
    [{ sub: '1', email: 'a@example.test', email_verified: false }, undefined, 'oidc:1'],
    [{ sub: '1', email: 'a@example.test' }, undefined, 'oidc:1'],
    [{ sub: 'auth0|1' }, undefined, 'oidc:auth0|1'],
    [{ sub: '1', nick: '김 kim' }, 'nick', 'oidc:김 kim'],
    [{ sub: '1', nick: 'हिन्दी' }, 'nick', 'oidc:हिन्दी'],
    [{ sub: '1', nick: 'Jose\u0301' }, 'nick', 'oidc:Jos\u00e9'],
    [{ sub: '1' }, 'nick', undefined],
    [{ sub: '1', nick: '' }, 'nick', undefined],
    [{ sub: '1', nick: 'x'.repeat(129) }, 'nick', undefined],
    [{ sub: '1', nick: 'a\u202eb' }, 'nick', undefined],
    [{ sub: '1', nick: ['a'] }, 'nick', undefined],
  ])('of %j with OIDC_NAME_CLAIM %s is %s', (claims, nameClaim, name) => {
    const person = personOf(
      { ...claims, roles: 'admins' },
      { ...SETTINGS, ...(nameClaim === undefined ? {} : { nameClaim }) },
    );
    expect(person).toEqual(
      name === undefined ? { refusal: 'no-name' } : { user: { name, role: 'operator' } },
    );
  });
});

describe('a claim', () => {
  it.each([
    ['roles', { roles: 1 }, 1],
    ['realm_access.roles', { realm_access: { roles: 1 } }, 1],
    ['https://example.test/roles', { 'https://example.test/roles': 1 }, 1],
    ['resource_access.my.client.roles', { resource_access: { 'my.client': { roles: 1 } } }, 1],
    ['a.b', { 'a.b': 1, a: { b: 2 } }, 1],
    ['a.b', { a: 1 }, undefined],
    ['a.b', { a: null }, undefined],
    ['toString', {}, undefined],
    ['a.constructor.name', { a: {} }, undefined],
  ])('%s in %j is %s', (path, claims, value) => {
    expect(claimAt(claims, path)).toBe(value);
  });
});
