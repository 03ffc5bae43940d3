import { beforeEach, expect, it } from 'vitest';
import { addRefusedWorker, removeRefusedWorker } from '../../src/fleet/refused-workers.ts';
import { keysOf, type Keys } from '../../src/redis/keys.ts';
import type { UnreadyReason } from '../../workers/health/readiness.ts';
import { testRedis } from '../support/redis.ts';

const redis = testRedis();
let keys: Keys;

beforeEach(() => {
  keys = keysOf(redis.freshPrefix(), 'default');
});

/** Heartbeats of workers; an id may be the reason why it is not ready. */
async function live(...ids: string[]): Promise<void> {
  for (const id of ids) {
    const unready = id.length > 4 ? [{ reason: id, since: 1 }] : [];
    await redis.client.zadd(keys.workers, 1, id);
    await redis.client.set(keys.worker(id), JSON.stringify({ id, startedAt: 1, unready }));
  }
}
const add = (id: string) => addRefusedWorker(redis.client, keys, id);

it('all are refused once each live worker is', async () => {
  await live('a', 'b', 'c');
  expect([await add('a'), await add('a'), await add('b'), await add('c')]).toEqual([
    false,
    false,
    false,
    true,
  ]);
  expect(await add('a')).toBe(true);
});

it('a worker of which a request was accepted is not, nor one that has just started', async () => {
  await live('a', 'b');
  await add('a');
  expect(await add('b')).toBe(true);
  await removeRefusedWorker(redis.client, keys, 'b');
  expect(await add('a')).toBe(false);
  await add('b');
  await live('new');
  expect(await add('a')).toBe(false);
});

const SEND_NOTHING: UnreadyReason[] = ['redis-unsuitable', 'stalled', 'stopping'];

it('a worker that has ended does not count, nor one that sends nothing', async () => {
  await live('a', 'b', 'dead', ...SEND_NOTHING);
  await add('a');
  await redis.client.zrem(keys.workers, 'dead');
  expect(await add('b')).toBe(true);
});

const SEND_OTHERS: UnreadyReason[] = ['payload-key', 'event-loop', 'copy-unchecked', 'redis-away'];

it.each(SEND_OTHERS)(
  'a worker that is not ready with %s sends other jobs or soon will, and counts',
  async (reason) => {
    await live('a', reason);
    expect(await add('a')).toBe(false);
  },
);

it('a worker that waits counts as long as it waits, and no longer', async () => {
  await live('a', 'b');
  expect(await addRefusedWorker(redis.client, keys, 'b', 500)).toBe(false);
  expect(await add('a')).toBe(true);
  const until = Number(await redis.client.zscore(keys.refusedWorkers, 'b'));
  await redis.client.zincrby(keys.refusedWorkers, -1_600, 'b');
  expect(await add('a')).toBe(false);
  expect(until - Date.now()).toBeLessThanOrEqual(1_600);
  // What is known for longer is not shortened.
  await addRefusedWorker(redis.client, keys, 'a', 500);
  expect(Number(await redis.client.zscore(keys.refusedWorkers, 'a'))).toBeGreaterThan(until + 9e6);
});

it('a refusal of more than a day ago does not count, and the key expires', async () => {
  await live('a', 'b');
  await add('a');
  await redis.client.zincrby(keys.refusedWorkers, -86_500_000, 'a');
  expect(await add('b')).toBe(false);
  expect(await redis.client.zcard(keys.refusedWorkers)).toBe(1);
  expect(await redis.client.pttl(keys.refusedWorkers)).toBeGreaterThan(86_000_000);
});
