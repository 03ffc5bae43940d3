import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { InputError, NoticeQueue, type Notice, type SendOptions } from '../../src/index.ts';
import { testRedis } from '../support/redis.ts';
import { contacts } from './support/stored-jobs.ts';

const redis = testRedis();
const prefix = redis.freshPrefix();
const queue = new NoticeQueue({ redis: { url: redis.url }, prefix });
afterAll(() => queue.close());

const NOTICE = { templateCode: 'T', contacts: contacts(3) };

async function refusalOf(notice: unknown, options?: unknown): Promise<InputError> {
  const sending = queue.send(notice as Notice, options as SendOptions | undefined);
  const error: unknown = await sending.then(
    () => new Error('it was queued'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof InputError)) throw error;
  return error;
}

describe('send with bad input: InputError that names the field, and nothing in Redis', () => {
  const rows: [field: string, notice: unknown, options?: unknown][] = [
    ['notice', null],
    ['contacts[3].contact', { ...NOTICE, contacts: [...NOTICE.contacts, { contact: '010-1234' }] }],
    ['extra', { ...NOTICE, extra: Number.NaN }],
    ['options', NOTICE, null],
    ['options.idempotencyKey', NOTICE, { idempotencyKey: 'x'.repeat(201) }],
    ['options.jobId', NOTICE, { jobId: 'mine' }],
  ];
  it.each(rows)('%s', async (field, notice, options) => {
    const error = await refusalOf(notice, options);
    expect(error.code).toBe('NOTICE_INVALID');
    expect(error.issues.map((issue) => issue.field)).toEqual([field]);
    expect(error.message).toContain(`${field}: `);
    expect(error.message).not.toMatch(/010-1234|xxxxx/);
    expect(await redis.keys(prefix)).toEqual([]);
  });
});

describe('new NoticeQueue with bad options: CONFIG_INVALID that names the option', () => {
  const pem = '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----';
  const host = { host: 'h', port: 1 };
  const here = { insecureHosts: ['h'] };
  const rows: [field: string, options: unknown][] = [
    ['options', null],
    ['connection', { connection: {} }],
    ['redis', { redis: 'redis://127.0.0.1' }],
    ['redis.host', { redis: { host: 'h' } }],
    ['redis.url', { redis: { url: '' } }],
    ['redis.url', { redis: { url: 'http://127.0.0.1' } }],
    ['redis.url', { redis: { url: 'redis://h' } }],
    ['redis.url', { redis: { url: 'redis://h', insecureHosts: ['g'] } }],
    ['redis.insecureHosts', { redis: { insecureHosts: 'h' } }],
    ['redis.url', { redis: { url: 'redis://h', tlsCa: pem } }],
    ['redis.password', { redis: { password: '' } }],
    [
      'redis.sentinels[0].port',
      { redis: { ...here, sentinels: [{ host: 'h', port: 0 }], sentinelName: 'm' } },
    ],
    ['redis.sentinelName', { redis: { ...here, sentinels: [host] } }],
    ['redis.sentinelName', { redis: { sentinelName: 'm' } }],
    ['redis.tlsCa', { redis: { url: 'rediss://h', tlsCa: '/etc/ca.pem' } }],
    ['redis.connectTimeoutMs', { redis: { connectTimeoutMs: 60_001 } }],
    ['prefix', { prefix: 'a b' }],
    ['account', { account: 'UPPER' }],
    ['chunkSize', { chunkSize: 10_001 }],
    ['idempotencyWindowMs', { idempotencyWindowMs: 999 }],
    ['enqueueTimeoutMs', { enqueueTimeoutMs: null }],
  ];
  /** What the constructor throws; a queue that it built instead is the failure to see. */
  function refusalOf(options: unknown): unknown {
    try {
      return new NoticeQueue(options as { prefix: string });
    } catch (error) {
      return error;
    }
  }

  it.each(rows)('%s in %j', (field, options) => {
    const error = refusalOf(options);
    expect(error).toBeInstanceOf(InputError);
    const { code, issues } = error as InputError;
    expect(code).toBe('CONFIG_INVALID');
    expect(issues.map((issue) => issue.field)).toEqual([field]);
    expect(issues[0]?.problem).toMatch(/^expected |unknown option$/);
  });

  it('every wrong one at once, without the values of secrets', () => {
    const text = String(
      refusalOf({
        redis: { url: 'redis://u:CANARY@h/x', password: 'CANARY\n', frobnicate: 1 },
        chunkSize: 0,
        chunksize: 5,
      }),
    );
    const fields = ['redis.url', 'redis.password', 'redis.frobnicate', 'chunkSize', 'chunksize'];
    for (const field of fields) expect(text).toContain(`${field}: `);
    expect(text).not.toContain('CANARY');
  });

  it.each(['0', ' 0 '])('while Node.js checks no certificates (%j)', (value) => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', value);
    onTestFinished(() => void vi.unstubAllEnvs());
    const error = refusalOf({ redis: { url: redis.url } });
    expect(error).toBeInstanceOf(InputError);
    const { code, issues } = error as InputError;
    expect(code).toBe('CONFIG_INVALID');
    expect(issues.map((issue) => issue.field)).toEqual(['NODE_TLS_REJECT_UNAUTHORIZED']);
  });

  it('takes undefined for what is left out', async () => {
    const lenient = new NoticeQueue({
      redis: { url: redis.url, username: undefined, password: undefined, sentinels: undefined },
      prefix: redis.freshPrefix(),
      account: undefined,
      chunkSize: undefined,
    });
    expect(await lenient.send(NOTICE)).toMatchObject({ contacts: 3 });
    await lenient.close();
  });
});
