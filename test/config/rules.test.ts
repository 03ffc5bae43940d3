import { describe, expect, test } from 'vitest';
import type { Environment } from '../../src/config/environment.ts';
import { RULES } from '../../src/config/rules.ts';
import { issuesOf, PEM } from './support.ts';
import { temporaryFile } from '../support/temporary.ts';

const PROXY = { BASE_URL: 'http://localhost:8080', PROXY_URL: 'http://proxy.example.test:3128' };
const SENTINELS = { REDIS_SENTINELS: '127.0.0.1:26379' };
const OPEN = { OPS_ADDRESS: '0.0.0.0:4011' };
const API_KEYS = { OPS_API_KEYS: `shop:sender:sha256.${'k'.repeat(43)}` };
const SIGNED = { EVENT_WEBHOOK_SECRET: 'CANARY-of-a-secret' };
const hook = (url: string) => ({ ...SIGNED, EVENT_WEBHOOK_URL: url });

/** Names of the rule, joined; environments that keep it, and environments that break it alone. */
const CASES: readonly (readonly [string, readonly Environment[], readonly Environment[]])[] = [
  [
    'BASE_URL INSECURE_HOSTS PROXY_URL',
    [
      ...['http://127.8.9.10', 'http://localhost:8080', 'http://[::1]:8080/base'].map(
        (BASE_URL) => ({ BASE_URL }),
      ),
      { BASE_URL: 'http://api.example.test', INSECURE_HOSTS: 'api.example.test' },
      { ...PROXY, INSECURE_HOSTS: 'localhost' },
      { ...PROXY, PROXY_URL: 'http://127.0.0.1:3128' },
      { PROXY_URL: PROXY.PROXY_URL },
    ],
    [
      ...['http://10.0.0.1', 'http://127.0.0.1.example.test', 'http://0.0.0.0', 'http://[::2]'].map(
        (BASE_URL) => ({ BASE_URL }),
      ),
      { BASE_URL: 'http://api.example.test', INSECURE_HOSTS: 'emulator' },
      PROXY,
    ],
  ],
  [
    'REDIS_URL REDIS_SENTINELS INSECURE_HOSTS',
    [
      ...['redis://localhost', 'redis://127.0.0.1:7000/1', 'redis://[::1]', 'rediss://a'].map(
        (REDIS_URL) => ({ REDIS_URL }),
      ),
      {
        REDIS_URL: 'redis://[fd00::1]',
        INSECURE_HOSTS: '10.0.0.1, LOCALHOST.example.test, fd00::1',
      },
    ],
    [
      ...['redis://10.0.0.1', 'redis://localhost.example.test:6379/1', 'redis://[fd00::1]'].map(
        (REDIS_URL) => ({ REDIS_URL }),
      ),
      { REDIS_SENTINELS: 'localhost:26379,10.0.0.1:26379', REDIS_SENTINEL_NAME: 'main' },
      { REDIS_URL: 'redis://redis.example.test', INSECURE_HOSTS: 'example.test' },
    ],
  ],
  [
    'REDIS_SENTINELS REDIS_SENTINEL_NAME',
    [{ ...SENTINELS, REDIS_SENTINEL_NAME: 'main' }],
    [SENTINELS, { REDIS_SENTINEL_NAME: 'main' }],
  ],
  [
    'OPS_ADDRESS OPS_USERS OPS_API_KEYS OPS_USER_HEADER',
    [{ ...OPEN, ...API_KEYS }],
    [{ ...OPEN, OPS_TRUSTED_PROXY: '10.0.0.1' }],
  ],
  [
    'OPS_USER_HEADER OPS_TRUSTED_PROXY',
    [{ OPS_USER_HEADER: 'X-User', OPS_TRUSTED_PROXY: '10.0.0.1' }],
    [{ OPS_USER_HEADER: 'X-User' }],
  ],
  [
    'OPS_ROLE_HEADER OPS_USER_HEADER',
    [{ OPS_ROLE_HEADER: 'X-Role', OPS_USER_HEADER: 'X-User', OPS_TRUSTED_PROXY: '::1' }],
    [{ OPS_ROLE_HEADER: 'X-Role' }],
  ],
  [
    'EVENT_WEBHOOK_URL EVENT_WEBHOOK_SECRET',
    [SIGNED],
    [{ EVENT_WEBHOOK_URL: 'https://a.example.test/CANARY' }],
  ],
  [
    'EVENT_WEBHOOK_URL',
    ['https://a.example.test/hook?key=1', 'http://127.0.0.1:8080/hook', 'http://[::1]:80'].map(
      hook,
    ),
    ['http://a.example.test/CANARY'].map(hook),
  ],
];

test('every rule has a case here', () => {
  const rules = RULES.map(({ names }) => names.join(' '));
  // It reads a file, and has a test of its own below.
  const others = ['REDIS_URL REDIS_TLS_CA_FILE'];
  expect([...CASES.map(([rule]) => rule), ...others].toSorted()).toStrictEqual(rules.toSorted());
});

describe.each(CASES)('%s', (rule, holds, broken) => {
  test.each(holds)('holds: %j', (environment) => {
    expect(issuesOf(environment)).toStrictEqual([]);
  });

  test.each(broken)('is named once, with every variable and value: %j', (environment) => {
    const names = rule.split(' ');
    const [issue, ...others] = issuesOf(environment);
    expect(others).toStrictEqual([]);
    expect(issue?.field).toBe(names[0]);
    for (const name of names) expect(issue?.problem).toContain(`${name} is `);
    expect(issue?.problem).not.toContain('CANARY');
  });
});

test('a rule about an invalid value is skipped, one about others shows what they are', () => {
  const fields = issuesOf({ REDIS_SENTINELS: 'host', REDIS_SENTINEL_NAME: 'main' });
  expect(fields.map(({ field }) => field)).toStrictEqual(['REDIS_SENTINELS']);
  const [issue] = issuesOf({ REDIS_SENTINEL_NAME: 'main' });
  expect(issue?.problem).toContain('REDIS_SENTINELS is not set, REDIS_SENTINEL_NAME is main');
});

test('certificates for Redis need a connection with TLS', () => {
  const file = temporaryFile(PEM);
  expect(issuesOf({ REDIS_TLS_CA_FILE: file, REDIS_URL: 'rediss://a' })).toStrictEqual([]);
  const [issue] = issuesOf({ REDIS_TLS_CA_FILE: file });
  expect(issue?.field).toBe('REDIS_URL');
  expect(issue?.problem).toContain('REDIS_TLS_CA_FILE is set');
});

test.each([
  'https://user:CANARY@a.example.test',
  'https://a.example.test:99999/CANARY',
  'https://a.example.test/CANARY#x',
  'ftp://a.example.test/CANARY',
])('the webhook must not be %s, and is not shown', (url) => {
  const issues = issuesOf(hook(url));
  expect(issues.map(({ field }) => field)).toStrictEqual(['EVENT_WEBHOOK_URL']);
  expect(issues[0]?.problem).not.toContain('CANARY');
});

test('verification of certificates cannot be switched off', () => {
  const [issue] = issuesOf({ NODE_TLS_REJECT_UNAUTHORIZED: '0' });
  expect(issue?.field).toBe('NODE_TLS_REJECT_UNAUTHORIZED');
  expect(issuesOf({ NODE_TLS_REJECT_UNAUTHORIZED: '1' })).toStrictEqual([]);
  expect(issuesOf({ NODE_TLS_REJECT_UNAUTHORIZED: '' })).toStrictEqual([]);
});
