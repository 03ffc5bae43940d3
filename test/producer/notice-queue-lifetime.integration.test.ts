import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { InputError, NoticeQueue, type NoticeQueueError } from '../../src/index.ts';
import { freePort } from '../../scripts/redis/free-port.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { contacts, waitingIds, waitingJobs } from './support/stored-jobs.ts';
import { temporaryFile } from '../support/temporary.ts';

const redis = testRedis();
const NOTICE = { templateCode: 'ORDER', contacts: contacts(1) };

afterEach(() => vi.unstubAllEnvs());

describe('fromEnv', () => {
  it('uses the environment; options take precedence', async () => {
    const prefix = redis.freshPrefix();
    vi.stubEnv('REDIS_URL', redis.url);
    vi.stubEnv('REDIS_PREFIX', 'not-this-one');
    vi.stubEnv('DELIVERY', 'at-most-once');
    await using queue = NoticeQueue.fromEnv({ prefix });
    await queue.send(NOTICE);
    const [job] = await waitingJobs(redis.client, prefix);
    expect(job?.data).toMatchObject({ delivery: 'at-most-once' });
  });

  it('an option that is undefined does not replace its variable', async () => {
    const prefix = redis.freshPrefix();
    vi.stubEnv('REDIS_URL', redis.url);
    vi.stubEnv('REDIS_PREFIX', prefix);
    await using queue = NoticeQueue.fromEnv({ prefix: undefined, redis: undefined });
    const { id } = await queue.send(NOTICE);
    expect(await waitingIds(redis.client, prefix)).toEqual([id]);
  });

  it('names an invalid variable', () => {
    vi.stubEnv('CHUNK_SIZE', 'many');
    expect(() => NoticeQueue.fromEnv()).toThrow(/CHUNK_SIZE/);
  });

  it('ignores variables of workers and applications', async () => {
    vi.stubEnv('REDIS_URL', redis.url);
    for (const name of ['ACCESS_KEY', 'SECRET_KEY']) vi.stubEnv(name, '');
    const others = ['BASE_URL', 'CONCURRENCY', 'LOG_LEVEL', 'PAYLOAD_KEY_PREVIOUS'];
    for (const name of others) vi.stubEnv(name, 'of the application');
    await using queue = NoticeQueue.fromEnv({ prefix: redis.freshPrefix() });
    await expect(queue.send(NOTICE)).resolves.toMatchObject({ contacts: 1 });
  });

  it('reads secrets from files', () => {
    const file = temporaryFile('not a key');
    vi.stubEnv('PAYLOAD_KEY_FILE', file);
    expect(() => NoticeQueue.fromEnv()).toThrow(/PAYLOAD_KEY_FILE/);
  });
});

describe('sendLater', () => {
  it('queues the notice; flush waits for it', async () => {
    const prefix = redis.freshPrefix();
    await using queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
    const errors: unknown[] = [];
    for (let index = 0; index < 3; index++) {
      queue.sendLater(NOTICE, (error) => errors.push(error), { idempotencyKey: `k${index}` });
    }
    await queue.flush();
    expect(await waitingIds(redis.client, prefix)).toHaveLength(3);
    expect(errors).toEqual([]);
  });

  it('hands over every error: of input, of Redis, and after the end', async () => {
    const errors: unknown[] = [];
    const queue = new NoticeQueue({
      redis: { url: `redis://127.0.0.1:${await freePort()}` },
      enqueueTimeoutMs: 100,
    });
    queue.sendLater({ templateCode: '', contacts: [] }, (error) => errors.push(error));
    queue.sendLater(NOTICE, (error) => errors.push(error));
    await queue.close();
    const ended = new Promise<void>((resolve) => {
      queue.sendLater(NOTICE, (error) => {
        errors.push(error);
        resolve();
      });
    });
    await ended;
    expect(errors[0]).toBeInstanceOf(InputError);
    expect(errors.map((error) => (error as NoticeQueueError).code)).toEqual([
      'NOTICE_INVALID',
      'QUEUE_UNAVAILABLE',
      'QUEUE_CLOSED',
    ]);
  });

  it('an error in the handler is a warning, and ends no process', async () => {
    await using queue = new NoticeQueue({
      redis: connectionAs('producer', redis.url),
      prefix: redis.freshPrefix(),
    });
    const warned = once(process, 'warning');
    queue.sendLater({ templateCode: '', contacts: [] }, async () => {
      await Promise.resolve();
      throw new Error('in the handler');
    });
    const [warning] = (await warned) as [Error];
    expect(warning.name).toBe('NoticeQueueWarning');
    expect(warning.message).not.toContain('in the handler');
  });
});

describe('ready', () => {
  it('resolves when Redis answers, and says in time where it does not', async () => {
    await using queue = new NoticeQueue({ redis: { url: redis.url }, prefix: redis.freshPrefix() });
    await queue.ready();
    await queue.close();
    await expect(queue.ready()).rejects.toMatchObject({ code: 'QUEUE_CLOSED', retryable: false });
    const nowhere = { url: `redis://127.0.0.1:${await freePort()}` };
    await using away = new NoticeQueue({ redis: nowhere, enqueueTimeoutMs: 200 });
    await expect(away.ready()).rejects.toMatchObject({
      code: 'QUEUE_UNAVAILABLE',
      retryable: true,
    });
  });

  it.each([
    ['', () => redis.url, 'pending'],
    [' where no Redis listens', () => 'redis://127.0.0.1:1', 'QUEUE_UNAVAILABLE'],
  ])('the end leaves no timer and no socket%s', async (_, url, answer) => {
    // Timers of others end soon, and would hide one that is left.
    const before = process.getActiveResourcesInfo().filter((kind) => kind !== 'Timeout');
    const settings = { redis: { url: url() }, enqueueTimeoutMs: 500 };
    const queue = new NoticeQueue({ ...settings, prefix: redis.freshPrefix() });
    const calls = async () => {
      await queue.send(NOTICE, { idempotencyKey: 'k', delay: 1_000 });
      return (await queue.get({ idempotencyKey: 'k' })).state;
    };
    expect(await calls().catch((error: NoticeQueueError) => error.code)).toBe(answer);
    await queue.close();
    // One that another part had before may have ended meanwhile.
    const left = () => {
      const others = [...before];
      return process.getActiveResourcesInfo().filter((kind) => {
        const at = others.indexOf(kind);
        if (at >= 0) others.splice(at, 1);
        return at < 0;
      });
    };
    // A socket closes with its next event. Not expect.poll, which has timers of its own.
    const deadline = performance.now() + 1_500;
    while (left().length > 0 && performance.now() < deadline) await setImmediate();
    expect(left()).toEqual([]);
  });
});
