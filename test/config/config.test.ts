import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { InputError } from '../../src/contracts/errors.ts';
import { issuesOf, REQUIRED } from './support.ts';

test('every variable that is set is a value, what is not set is absent', () => {
  const secret = 'a secret of events';
  const { redis, service, worker, ops, events } = loadConfig({
    ...REQUIRED,
    REDIS_SENTINELS: '[::1]:7000',
    REDIS_SENTINEL_NAME: 'main',
    RATE_LIMIT: '40',
    KEEP_FAILED_MS: '1d',
    OPS_ADDRESS: '0.0.0.0:4012',
    OPS_API_KEYS: `shop:sender:sha256.${'k'.repeat(43)}`,
    OPS_TRUSTED_PROXY: '10.0.0.1, 10.1.0.0/16,::1',
    EVENT_WEBHOOK_URL: 'https://events.example.test/hook?key=1',
    EVENT_WEBHOOK_SECRET: secret,
  });
  expect(redis.sentinels).toStrictEqual([{ host: '::1', port: 7000 }]);
  expect(worker).toMatchObject({ rateLimit: { limit: 40 }, keepFailedMs: 86_400_000 });
  expect(service).toMatchObject({ connections: 40, sendDeadlineMs: 30_000 });
  expect(ops).toMatchObject({ host: '0.0.0.0', port: 4012, hostNames: [] });
  expect(ops.trustedProxy).toStrictEqual(['10.0.0.1', '10.1.0.0/16', '::1']);
  expect(events).toMatchObject({ secret, format: 'json' });
  expect(loadConfig(REQUIRED).events).toBeUndefined();
  for (const field of ['defaultChatSenderKey', 'defaultSenderKey', 'tlsCa', 'proxyUrl']) {
    expect(service).not.toHaveProperty(field);
  }
});

test('a producer needs no credentials of the service, and gets those that are there', () => {
  expect(loadConfig({}, { service: false }).service).toBeUndefined();
  expect(loadConfig({ ACCESS_KEY: 'a' }, { service: false }).service).toBeUndefined();
  const { service } = loadConfig(REQUIRED, { service: false });
  expect(service).toStrictEqual(loadConfig(REQUIRED).service);
  expect(() => loadConfig({ CHUNK_SIZE: '0' }, { service: false })).toThrow(
    /^CHUNK_SIZE: expected a whole number of contacts from 1 to 10000, got "0"/,
  );
});

test('every problem is reported at once', () => {
  const issues = issuesOf({
    BASE_URL: '',
    SECRET_KEY: undefined,
    API_VERSION: 'v3',
    CONCURRENCY: '0',
    REDIS_SENTINEL_NAME: 'main',
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
  });
  expect(issues.map(({ field }) => field)).toStrictEqual([
    'BASE_URL',
    'SECRET_KEY',
    'API_VERSION',
    'CONCURRENCY',
    'REDIS_SENTINELS',
    'NODE_TLS_REJECT_UNAUTHORIZED',
  ]);
});

test('the message contains the problem and then what to do', () => {
  expect(() => loadConfig({ ...REQUIRED, API_VERSION: 'v3' })).toThrow(
    /^API_VERSION: expected one of v2, v1, got "v3"\. Fix the variables listed above/,
  );
});

test('the environment is not changed', () => {
  const environment = Object.freeze({ ...REQUIRED, RATE_LIMIT: '40', ACCESS_KEY: ' wrong ' });
  const before = structuredClone(environment);
  expect(() => loadConfig(environment)).toThrow(InputError);
  expect(environment).toStrictEqual(before);
});

test('links that Kubernetes writes for services of these names are no variables', () => {
  const links = Object.fromEntries(
    ['OPS', 'HEALTH', 'REDIS', 'NOTICES'].flatMap((service) => [
      [`${service}_PORT`, 'tcp://10.0.0.7:4011'],
      [`${service}_SERVICE_HOST`, '10.0.0.7'],
      [`${service}_PORT_4011_TCP_ADDR`, '10.0.0.7'],
    ]),
  );
  expect(loadConfig({ ...REQUIRED, ...links })).toStrictEqual(loadConfig(REQUIRED));
});

test('what is invalid in a part that is not used has its default, and breaks no rule', () => {
  const environment = {
    ...REQUIRED,
    OPS_USERS: 'kim',
    OPS_ADDRESS: '[::]:1',
    CONCURRENCY: '0',
    RATE_LIMIT: '7',
  };
  const { ops, worker } = loadConfig(environment, { unused: ['ops', 'worker'] });
  expect([ops.users, worker.concurrency, worker.rateLimit.limit]).toStrictEqual([undefined, 32, 7]);
});
