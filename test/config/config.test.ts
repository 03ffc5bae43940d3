import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { loadConfig, type Config } from '../../src/config/config.ts';
import { ROWS } from '../../src/config/variables.ts';
import { InputError } from '../../src/contracts/errors.ts';
import { certificate } from '../service/support/servers.ts';
import { issuesOf, PEM, REQUIRED, temporaryFile } from './support.ts';

const PAIR = certificate('local');
const RULES = { rules: [{ code: 'NO', outcome: 'rejected' as const }] };

/** A value other than the default for each variable, within every rule. */
function everything(): Record<string, string> {
  const pem = temporaryFile(PEM);
  const cert = temporaryFile(PAIR.cert + PAIR.key);
  const rules = temporaryFile(JSON.stringify(RULES));
  return {
    BASE_URL: 'https://api.example.test/base/',
    ACCESS_KEY: 'an access key',
    SECRET_KEY: 'a secret key',
    API_VERSION: 'v1',
    TOKEN_PATH: '/t',
    SEND_PATH: '/s1',
    CHAT_SENDER_KEY_FIELD: 'field',
    DEFAULT_CHAT_SENDER_KEY: 'chat',
    DEFAULT_SENDER_KEY: '0212345678',
    TLS_CA_FILE: pem,
    TLS_CERT_FILE: cert,
    ANSWER_RULES_FILE: rules,
    PROXY_URL: 'http://proxy:3128',
    ANSWER_TIMEOUT_MS: '10001',
    REDIS_URL: 'rediss://host:6380',
    REDIS_USERNAME: 'user',
    REDIS_PASSWORD: 'password',
    REDIS_SENTINELS: 'a:26379,b:26379',
    REDIS_SENTINEL_NAME: 'main',
    REDIS_SENTINEL_PASSWORD: 'sentinel password',
    REDIS_TLS_CA_FILE: pem,
    REDIS_TLS_CERT_FILE: cert,
    INSECURE_HOSTS: 'redis, [fd00::1]',
    REDIS_PREFIX: 'other',
    REDIS_PERSISTENCE: 'require',
    CHUNK_SIZE: '1001',
    COUNTRY: 'KR',
    REPEAT_WINDOW: '86400001',
    DELIVERY: 'at-most-once',
    IDEMPOTENCY_WINDOW_MS: '86400001',
    HIGH_WATER: '1000001',
    PAYLOAD_KEY: 'a'.repeat(64),
    PAYLOAD_KEY_PREVIOUS: 'b'.repeat(64),
    FIND_KEY: 'c'.repeat(64),
    CONCURRENCY: '33',
    BATCH_CONCURRENCY: '9',
    PROCESSES: '2',
    ATTEMPTS: '11',
    UNKNOWN_RESENDS: '3',
    SEND_WINDOWS: 'P_*=08:00-21:00 Asia/Seoul',
    NOTICE_EVENTS: '10001',
    UNKNOWN_ACCEPTED_AFTER_MS: '86400001',
    RATE_LIMIT: '40',
    KEEP_ACCEPTED_MS: '3600002',
    KEEP_FAILED_MS: '604800001',
    HEALTH_ADDRESS: '0.0.0.0:9464',
    RESTORE_GUARD: 'warn',
    STATE_FILE: '/var/lib/notices/state.json',
    OPS_ADDRESS: '0.0.0.0:4012',
    OPS_USERS: `kim:operator:scrypt.15.8.3.${'s'.repeat(22)}.${'h'.repeat(43)}`,
    OPS_API_KEYS: `shop:sender:sha256.${'k'.repeat(43)}`,
    OPS_SESSION_KEY: 'k'.repeat(32),
    OPS_TRUSTED_PROXY: '10.0.0.1, 10.1.0.0/16,::1',
    OPS_HOST_NAMES: 'ops.example.test, other.example.test',
    OPS_USER_HEADER: 'X-User',
    OPS_ROLE_HEADER: 'X-Role',
    OPS_NAME: 'staging',
    EVENT_WEBHOOK_FORMAT: 'text',
    EVENT_WEBHOOK_URL: 'https://events.example.test/hook?key=1',
    EVENT_WEBHOOK_SECRET: 'a secret of events',
    ACCOUNT: 'second',
    LOG_LEVEL: 'debug',
  };
}

const EXPECTED: Config = {
  digests: expect.objectContaining({
    RATE_LIMIT: expect.stringMatching(/^[0-9a-f]{6}$/) as string,
  }) as Config['digests'],
  account: 'second',
  redis: {
    url: 'rediss://host:6380',
    username: 'user',
    password: 'password',
    sentinels: [
      { host: 'a', port: 26379 },
      { host: 'b', port: 26379 },
    ],
    sentinelName: 'main',
    sentinelPassword: 'sentinel password',
    cluster: [],
    insecureHosts: ['redis', '[fd00::1]'],
    tlsCa: PEM,
    tlsCert: PAIR.cert + PAIR.key,
    tlsKey: PAIR.cert + PAIR.key,
    prefix: 'other',
    connectTimeoutMs: 2000,
  },
  service: {
    baseUrl: 'https://api.example.test/base',
    accessKey: 'an access key',
    secretKey: 'a secret key',
    apiVersion: 'v1',
    tokenPath: '/t',
    sendPath: '/s1',
    chatSenderKeyField: 'field',
    defaultChatSenderKey: 'chat',
    defaultSenderKey: '0212345678',
    tlsCa: PEM,
    tlsCert: PAIR.cert + PAIR.key,
    tlsKey: PAIR.cert + PAIR.key,
    answerRules: RULES,
    proxyUrl: 'http://proxy:3128',
    connectTimeoutMs: 3000,
    answerTimeoutMs: 10001,
    sendDeadlineMs: 30003,
    issueDeadlineMs: 10001,
    notSentRetries: 2,
    acceptedTraceIds: true,
    connections: 42,
  },
  answerRules: RULES,
  token: {
    lockTtlMs: 15002,
    graceMs: 1000,
    minAgeMs: 10000,
    budget: 200,
    budgetWindowMs: 600000,
    refusedMinMs: 2000,
    refusedMaxMs: 60000,
    renewBeforeMs: 60000,
    issueDeadlineMs: 10001,
  },
  queue: {
    chunkSize: 1001,
    country: 'KR',
    repeatWindowMs: 86400001,
    delivery: 'at-most-once',
    idempotencyWindowMs: 86400001,
    enqueueTimeoutMs: 2000,
    highWater: 1000001,
    keepFailedMs: 604800001,
    payloadKey: 'a'.repeat(64),
    payloadKeyPrevious: 'b'.repeat(64),
    findKey: 'c'.repeat(64),
  },
  worker: {
    concurrency: 33,
    batchConcurrency: 9,
    processes: 2,
    attempts: 11,
    unknownResends: 3,
    sendWindows: 'P_*=08:00-21:00 Asia/Seoul',
    unknownAcceptedAfterMs: 86400001,
    backoffBaseMs: 1000,
    backoffCapMs: 300000,
    lockDurationMs: 90009,
    stalledIntervalMs: 3000,
    holdProbeMinMs: 2000,
    holdProbeMaxMs: 60000,
    retryAfterMaxMs: 3600000,
    rateLimit: { limit: 40, floor: 1, fallPercent: 50, recoveryMs: 120000 },
    keepAcceptedMs: 3600002,
    keepFailedMs: 604800001,
    noticeEvents: 10001,
    shutdownTimeoutMs: 40003,
    heartbeatMs: 3000,
    stallGraceMs: 36000,
    health: { port: 9464, host: '0.0.0.0' },
    sendDeadlineMs: 30003,
  },
  redisWatch: { persistence: 'require', memoryHeadroom: 10, everyMs: 9000 },
  restore: {
    guard: 'warn',
    toleranceMs: 2000,
    gapMs: 60000,
    stateFile: '/var/lib/notices/state.json',
  },
  ops: {
    name: 'staging',
    host: '0.0.0.0',
    port: 4012,
    users: `kim:operator:scrypt.15.8.3.${'s'.repeat(22)}.${'h'.repeat(43)}`,
    apiKeys: `shop:sender:sha256.${'k'.repeat(43)}`,
    sessionKey: 'k'.repeat(32),
    sessionMs: 43200000,
    trustedProxy: ['10.0.0.1', '10.1.0.0/16', '::1'],
    hostNames: ['ops.example.test', 'other.example.test'],
    userHeader: 'X-User',
    roleHeader: 'X-Role',
    maxBodyBytes: 4194304,
    noticesPerMinute: 6000,
  },
  events: {
    url: 'https://events.example.test/hook?key=1',
    secret: 'a secret of events',
    format: 'text',
  },
  logLevel: 'debug',
  mistyped: [],
};

test('every variable reaches its field', () => {
  const environment = everything();
  const missing = ROWS.map(({ variable }) => variable).filter((name) => !(name in environment));
  expect(missing).toStrictEqual(['REDIS_CLUSTER']);
  expect(loadConfig(environment)).toStrictEqual(EXPECTED);
  expect(loadConfig({ ...REQUIRED, REDIS_CLUSTER: '[::1]:7000' }).redis.cluster).toStrictEqual([
    { host: '::1', port: 7000 },
  ]);
});

test('what is not set is absent', () => {
  const { redis, service } = loadConfig(REQUIRED);
  expect(Object.keys(redis).toSorted()).toStrictEqual(
    ['url', 'insecureHosts', 'sentinels', 'cluster', 'prefix', 'connectTimeoutMs'].toSorted(),
  );
  for (const field of [
    'defaultChatSenderKey',
    'defaultSenderKey',
    'tlsCa',
    'tlsCert',
    'tlsKey',
    'proxyUrl',
  ]) {
    expect(service).not.toHaveProperty(field);
  }
});

test('the API version chooses the send path (service-api, Versioning)', () => {
  expect(loadConfig(REQUIRED).service?.sendPath).toBe('/api/v2/notices/send');
  expect(loadConfig({ ...REQUIRED, API_VERSION: 'v1' }).service).toMatchObject({
    sendPath: '/api/v1/notices/send',
    tokenPath: '/api/v2/token',
  });
});

describe('a producer', () => {
  test('needs no credentials of the service', () => {
    expect(loadConfig({}, { service: false }).service).toBeUndefined();
    expect(loadConfig({ ACCESS_KEY: 'a' }, { service: false }).service).toBeUndefined();
  });

  test('has them when all are there', () => {
    expect(loadConfig(REQUIRED, { service: false }).service).toStrictEqual(
      loadConfig(REQUIRED).service,
    );
  });

  test('gets errors for invalid values all the same', () => {
    expect(() => loadConfig({ CHUNK_SIZE: '0' }, { service: false })).toThrow(
      /^CHUNK_SIZE: expected a whole number of contacts from 1 to 10000, got "0"/,
    );
  });
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

test('a long wrong value is cut', () => {
  const [issue] = issuesOf({ API_VERSION: 'x'.repeat(500) });
  expect(issue?.problem).toBe(`expected one of v2, v1, got "${'x'.repeat(60)}..."`);
});

test('the environment is not changed', () => {
  const environment = Object.freeze({ ...everything(), ACCESS_KEY: ' wrong ' });
  const before = structuredClone(environment);
  expect(() => loadConfig(environment)).toThrow(InputError);
  expect(environment).toStrictEqual(before);
});

test('without an environment, that of the process is read', () => {
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  // The test runner sets a BASE_URL of its own.
  vi.stubEnv('BASE_URL', '');
  vi.stubEnv('REDIS_PREFIX', 'from-the-process');
  expect(loadConfig(undefined, { service: false }).redis.prefix).toBe('from-the-process');
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

test('a variable of a part that is not used is not read', () => {
  const environment = { ...REQUIRED, OPS_USERS: 'kim', CONCURRENCY: '0' };
  const { ops, worker } = loadConfig(environment, { unused: ['ops', 'worker'] });
  expect([ops.users, worker.concurrency]).toStrictEqual([undefined, 32]);
});
