import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import { readWorkers } from './heartbeat.ts';

/** A worker counts as refused for so long after the service refused it, unless a request of it is accepted. */
const REFUSED_MS = 86_400_000;

/** Records that a worker is refused; answers all that are. KEYS: the refused workers. ARGV: id of the worker. */
const addRefused = defineScript({
  name: 'add refused worker',
  keys: 1,
  parse: (reply: unknown) => (Array.isArray(reply) ? reply.map(String) : []),
  lua: `
local now = clock()
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ${REFUSED_MS})
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('PEXPIRE', KEYS[1], ${REFUSED_MS})
return redis.call('ZRANGE', KEYS[1], 0, -1)`,
});

/**
 * Records that the service refuses the key pair or the address of a worker.
 *
 * @param id of the worker
 * @returns whether it refuses every live worker, apart from those that are not ready for another reason
 * @throws ScriptFailure, and what ioredis throws
 */
export async function addRefusedWorker(
  redis: RedisClient,
  keys: Keys,
  id: string,
): Promise<boolean> {
  const refused = new Set(await addRefused(redis, [keys.refusedWorkers], [id]));
  const live = await readWorkers(redis, keys);
  return live.every(({ id: one, unready = [] }) => refused.has(one) || unready.length > 0);
}

/** Records that the service accepted a request of a worker. */
export async function removeRefusedWorker(
  redis: RedisClient,
  keys: Pick<Keys, 'refusedWorkers'>,
  id: string,
): Promise<void> {
  await redis.zrem(keys.refusedWorkers, id);
}
