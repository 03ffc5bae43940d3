import { describe, expect, test } from 'vitest';
import type { Environment } from '../../src/config/environment.ts';
import { ENVIRONMENT_RULES, RULES } from '../../src/config/rules.ts';
import { certificate } from '../service/support/servers.ts';
import { issuesOf, PEM, temporaryFile } from './support.ts';

interface Case {
  /** Names of the rule, joined: what the rule compares. */
  readonly rule: string;
  /** As close to the edge as a right environment gets. */
  readonly holds: Environment;
  /** Just over it. */
  readonly broken: Environment;
}

const CASES: readonly Case[] = [
  {
    rule: 'BASE_URL INSECURE_HOSTS PROXY_URL',
    holds: { BASE_URL: 'http://api.example.test', INSECURE_HOSTS: 'api.example.test' },
    broken: { BASE_URL: 'http://api.example.test', INSECURE_HOSTS: 'emulator' },
  },
  {
    rule: 'REDIS_URL REDIS_SENTINELS REDIS_CLUSTER INSECURE_HOSTS',
    holds: { REDIS_URL: 'redis://redis.example.test', INSECURE_HOSTS: 'redis.example.test' },
    broken: { REDIS_URL: 'redis://redis.example.test', INSECURE_HOSTS: 'example.test' },
  },
  {
    rule: 'REDIS_SENTINELS REDIS_SENTINEL_NAME',
    holds: { REDIS_SENTINELS: '127.0.0.1:26379', REDIS_SENTINEL_NAME: 'main' },
    broken: { REDIS_SENTINELS: '127.0.0.1:26379' },
  },
  {
    rule: 'REDIS_SENTINELS REDIS_CLUSTER',
    holds: { REDIS_CLUSTER: 'localhost:7000' },
    broken: {
      REDIS_CLUSTER: 'localhost:7000',
      REDIS_SENTINELS: 'localhost:26379',
      REDIS_SENTINEL_NAME: 'main',
    },
  },
  {
    rule: 'REDIS_URL REDIS_CLUSTER',
    holds: { REDIS_CLUSTER: 'localhost:7000', REDIS_URL: 'redis://a/0' },
    broken: { REDIS_CLUSTER: 'localhost:7000', REDIS_URL: 'redis://a/1' },
  },
  {
    rule: 'OPS_ADDRESS OPS_USERS OPS_API_KEYS OPS_USER_HEADER',
    holds: { OPS_ADDRESS: '0.0.0.0:4011', OPS_API_KEYS: `shop:sender:sha256.${'k'.repeat(43)}` },
    broken: { OPS_ADDRESS: '0.0.0.0:4011', OPS_TRUSTED_PROXY: '10.0.0.1' },
  },
  {
    rule: 'OPS_USER_HEADER OPS_TRUSTED_PROXY',
    holds: { OPS_USER_HEADER: 'X-User', OPS_TRUSTED_PROXY: '10.0.0.1' },
    broken: { OPS_USER_HEADER: 'X-User' },
  },
  {
    rule: 'OPS_ROLE_HEADER OPS_USER_HEADER',
    holds: { OPS_ROLE_HEADER: 'X-Role', OPS_USER_HEADER: 'X-User', OPS_TRUSTED_PROXY: '::1' },
    broken: { OPS_ROLE_HEADER: 'X-Role' },
  },
];

test('every rule has a case here', () => {
  const rules = RULES.map(({ names }) => names.join(' '));
  // These show no values, and have tests of their own below.
  const others = [
    'REDIS_URL REDIS_TLS_CA_FILE REDIS_TLS_CERT_FILE',
    'REDIS_TLS_CERT_FILE',
    'BASE_URL TLS_CERT_FILE',
    'TLS_CERT_FILE',
    'EVENT_WEBHOOK_URL EVENT_WEBHOOK_SECRET',
    'EVENT_WEBHOOK_URL',
  ];
  expect([...CASES.map(({ rule }) => rule), ...others]).toStrictEqual(rules);
});

describe.each(CASES)('$rule', ({ rule, holds, broken }) => {
  test('holds at its edge', () => {
    expect(issuesOf(holds)).toStrictEqual([]);
  });

  test('is named once, with every variable and value, when it is broken', () => {
    const names = rule.split(' ');
    const [issue, ...others] = issuesOf(broken);
    expect(others).toStrictEqual([]);
    expect(issue?.field).toBe(names[0]);
    for (const name of names) expect(issue?.problem).toContain(`${name} is `);
    for (const [name, value] of Object.entries(broken).filter(([name]) => names.includes(name))) {
      expect(issue?.problem).toContain(`${name} is ${value}`);
    }
  });
});

test('a rule about an invalid value is skipped', () => {
  const issues = issuesOf({ REDIS_SENTINELS: 'host', REDIS_SENTINEL_NAME: 'main' });
  expect(issues.map(({ field }) => field)).toStrictEqual(['REDIS_SENTINELS']);
});

test('a name for Sentinels without Sentinels breaks the rule, too', () => {
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

describe('a certificate of our own, for mutual TLS', () => {
  const pair = (cert: string, key: string) => ({
    cert: temporaryFile(certificate('local').cert, cert),
    key: temporaryFile(certificate('local').key, key),
  });

  test.each(['REDIS_TLS_CERT_FILE', 'TLS_CERT_FILE'])(
    '%s needs the key that belongs to it',
    (name) => {
      const { cert, key } = pair('cert', 'key');
      const tls = { REDIS_URL: 'rediss://redis.example.test' };
      const both = temporaryFile(certificate('local').cert + certificate('local').key);
      for (const files of [`${cert},${key}`, `${key}, ${cert}`, both]) {
        expect(issuesOf({ ...tls, [name]: files })).toStrictEqual([]);
      }
      const others = temporaryFile(certificate('other').key);
      for (const files of [cert, key, `${cert},${others}`, `${cert},${key}.none`]) {
        const issues = issuesOf({ ...tls, [name]: files });
        expect(issues.map(({ field }) => field)).toStrictEqual([name]);
      }
    },
  );

  test('is of no use without TLS', () => {
    const { cert, key } = pair('cert', 'key');
    const redis = issuesOf({ REDIS_TLS_CERT_FILE: `${cert},${key}` });
    expect(redis.map(({ field }) => field)).toStrictEqual(['REDIS_URL']);
    const service = issuesOf({
      BASE_URL: 'http://127.0.0.1:4010',
      TLS_CERT_FILE: `${cert},${key}`,
    });
    expect(service.map(({ field }) => field)).toStrictEqual(['BASE_URL']);
  });

  test('is refused with an encrypted key, of which nothing is shown', () => {
    const file = temporaryFile(`${PEM}-----BEGIN ENCRYPTED PRIVATE KEY-----\nCANARY\n`);
    const [issue] = issuesOf({ TLS_CERT_FILE: file });
    expect(issue?.problem).toContain('without a passphrase');
    expect(issue?.problem).not.toContain('CANARY');
  });
});

describe.each(['EVENT_WEBHOOK'])('%s_URL', (webhook) => {
  const URL_NAME = `${webhook}_URL`;
  const SIGNED = { [`${webhook}_SECRET`]: 'CANARY-of-a-secret' };

  test('needs a secret; a secret alone does no harm', () => {
    expect(issuesOf(SIGNED)).toStrictEqual([]);
    const [issue, ...others] = issuesOf({ [URL_NAME]: 'https://a.example.test/CANARY' });
    expect(others).toStrictEqual([]);
    expect(issue?.field).toBe(URL_NAME);
    expect(issue?.problem).toContain(`${webhook}_SECRET is not set`);
    expect(issue?.problem).not.toContain('CANARY');
  });

  test.each(['https://a.example.test/hook?key=1', 'http://127.0.0.1:8080/hook', 'http://[::1]:80'])(
    'may be %s',
    (url) => {
      expect(issuesOf({ ...SIGNED, [URL_NAME]: url })).toStrictEqual([]);
    },
  );

  test.each([
    'http://a.example.test/CANARY',
    'https://user:CANARY@a.example.test',
    'https://a.example.test:99999/CANARY',
    'https://a.example.test/CANARY#x',
    'ftp://a.example.test/CANARY',
  ])('must not be %s, and is not shown', (url) => {
    const issues = issuesOf({ ...SIGNED, [URL_NAME]: url });
    expect(issues.map(({ field }) => field)).toStrictEqual([URL_NAME]);
    expect(issues[0]?.problem).not.toContain('CANARY');
  });
});

describe('plain http', () => {
  test.each([
    'http://127.0.0.1:8080',
    'http://127.8.9.10',
    'http://localhost:8080',
    'http://[::1]:8080/base',
  ])('is fine for %s, which stays on this machine', (url) => {
    expect(issuesOf({ BASE_URL: url })).toStrictEqual([]);
  });

  test.each([
    'http://10.0.0.1',
    'http://localhost.example.test',
    'http://127.0.0.1.example.test',
    'http://0.0.0.0',
    'http://[::2]',
  ])('is refused for %s', (url) => {
    expect(issuesOf({ BASE_URL: url }).map(({ field }) => field)).toStrictEqual(['BASE_URL']);
  });
});

describe('a local service behind a proxy', () => {
  const local = { BASE_URL: 'http://localhost:8080' };

  test.each(['http://proxy.example.test:3128', 'https://proxy.example.test', 'http://10.0.0.1'])(
    'is the machine of the proxy: refused with %s',
    (PROXY_URL) => {
      const issues = issuesOf({ ...local, PROXY_URL });
      expect(issues.map(({ field }) => field)).toStrictEqual(['BASE_URL']);
      expect(issuesOf({ ...local, PROXY_URL, INSECURE_HOSTS: 'localhost' })).toStrictEqual([]);
      expect(issuesOf({ PROXY_URL })).toStrictEqual([]);
    },
  );

  test('is fine with a proxy of this machine', () => {
    expect(issuesOf({ ...local, PROXY_URL: 'http://127.0.0.1:3128' })).toStrictEqual([]);
  });
});

describe('Redis without TLS', () => {
  test.each<Environment>([
    { REDIS_URL: 'redis://10.0.0.1' },
    { REDIS_URL: 'redis://localhost.example.test:6379/1' },
    { REDIS_URL: 'redis://[fd00::1]' },
    { REDIS_SENTINELS: 'localhost:26379,10.0.0.1:26379', REDIS_SENTINEL_NAME: 'main' },
    { REDIS_CLUSTER: '127.0.0.1:7000,[fd00::1]:7000' },
  ])('is refused for other machines: %j', (environment) => {
    const fields = issuesOf(environment).map(({ field }) => field);
    expect(fields).toStrictEqual(['REDIS_URL']);
    expect(issuesOf({ REDIS_URL: 'rediss://h', ...tlsOf(environment) })).toStrictEqual([]);
    const INSECURE_HOSTS = '10.0.0.1, LOCALHOST.example.test, fd00::1';
    expect(issuesOf({ ...environment, INSECURE_HOSTS })).toStrictEqual([]);
  });

  const tlsOf = ({ REDIS_URL: url, ...others }: Environment): Environment =>
    url === undefined ? others : { ...others, REDIS_URL: url.replace('redis:', 'rediss:') };

  test.each(['redis://localhost', 'redis://127.0.0.1:7000/1', 'redis://[::1]'])(
    'is fine for %s, which stays on this machine',
    (url) => {
      expect(issuesOf({ REDIS_URL: url })).toStrictEqual([]);
    },
  );

  test.each(['redis://host', 'a:6379', 'a/b', 'two words'])('names no host: %j', (text) => {
    const fields = issuesOf({ INSECURE_HOSTS: text }).map(({ field }) => field);
    expect(fields).toStrictEqual(['INSECURE_HOSTS']);
  });
});

describe('rules on the runtime', () => {
  test('there is one, and it is tested here', () => {
    expect(ENVIRONMENT_RULES.map(({ name }) => name)).toStrictEqual([
      'NODE_TLS_REJECT_UNAUTHORIZED',
    ]);
  });

  test('verification of certificates cannot be switched off', () => {
    const [issue] = issuesOf({ NODE_TLS_REJECT_UNAUTHORIZED: '0' });
    expect(issue?.field).toBe('NODE_TLS_REJECT_UNAUTHORIZED');
    expect(issuesOf({ NODE_TLS_REJECT_UNAUTHORIZED: '1' })).toStrictEqual([]);
    expect(issuesOf({ NODE_TLS_REJECT_UNAUTHORIZED: '' })).toStrictEqual([]);
  });
});
