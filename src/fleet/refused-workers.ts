import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import { readWorkers } from './heartbeat.ts';

/** A worker counts as refused for so long after the service refused it, unless a request of it is accepted. */
const REFUSED_MS = 86_400_000;

/** One that waits for the next issuance counts a little longer: until it has asked. */
const ASKS_MS = 1_000;

/**
 * Reasons of workers that send nothing. A heartbeat may
 * be older than what it says: that of a worker that has just started, that it examines Redis (`copy-unchecked`), and the
 * one that waited for Redis, that Redis is away.
 */
const SENDS_NOTHING: ReadonlySet<string> = new Set(['redis-unsuitable', 'stalled', 'stopping']);

/** Records that a worker is refused; answers all that are. KEYS: the refused workers. ARGV: id of the worker, for how long. */
const addRefused = defineScript({
  name: 'add refused worker',
  keys: 1,
  parse: (reply: unknown) => (Array.isArray(reply) ? reply.map(String) : []),
  lua: `
local now = clock()
local last = now + tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0) < last then redis.call('ZADD', KEYS[1], last, ARGV[1]) end
redis.call('PEXPIRE', KEYS[1], ${REFUSED_MS})
return redis.call('ZRANGE', KEYS[1], 0, -1)`,
});

/**
 * Records that the service refuses the key pair or the address of a worker.
 *
 * @param id of the worker
 * @param waitsMs it was not refused itself, but waits so many milliseconds for the next issuance
 * @returns whether every live worker is refused or waits, apart from those that send nothing anyway
 * @throws ScriptFailure, and what ioredis throws
 */
export async function addRefusedWorker(
  redis: RedisClient,
  keys: Keys,
  id: string,
  waitsMs?: number,
): Promise<boolean> {
  const ms = waitsMs === undefined ? REFUSED_MS : Math.ceil(waitsMs) + ASKS_MS;
  const refused = new Set(await addRefused(redis, [keys.refusedWorkers], [id, ms]));
  const live = await readWorkers(redis, keys);
  return live.every(
    ({ id: one, unready = [] }) =>
      refused.has(one) || unready.some(({ reason }) => SENDS_NOTHING.has(reason)),
  );
}

/** Records that the service accepted a request of a worker. */
export async function removeRefusedWorker(
  redis: RedisClient,
  keys: Pick<Keys, 'refusedWorkers'>,
  id: string,
): Promise<void> {
  await redis.zrem(keys.refusedWorkers, id);
}
