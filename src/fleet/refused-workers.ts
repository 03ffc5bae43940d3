import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';

/** A worker counts as refused for so long after the service refused it, unless a request of it is accepted. */
const REFUSED_MS = 86_400_000;

/**
 * Records that a worker is refused; answers whether every live worker is. KEYS: the refused workers, the live ones.
 * ARGV: id of the worker.
 */
const addRefused = defineScript({
  name: 'add refused worker',
  keys: 2,
  parse: (reply: unknown) => reply === 1,
  lua: `
local refused, workers = unpack(KEYS)
local now = clock()
redis.call('ZREMRANGEBYSCORE', refused, '-inf', now - ${REFUSED_MS})
redis.call('ZADD', refused, now, ARGV[1])
redis.call('PEXPIRE', refused, ${REFUSED_MS})
for _, id in ipairs(redis.call('ZRANGE', workers, 0, -1)) do
  if not redis.call('ZSCORE', refused, id) then return 0 end
end
return 1`,
});

/**
 * Records that the service refuses the key pair or the address of a worker.
 *
 * @param id of the worker
 * @returns whether it refuses every live worker
 * @throws ScriptFailure
 */
export async function addRefusedWorker(
  redis: RedisClient,
  keys: Pick<Keys, 'refusedWorkers' | 'workers'>,
  id: string,
): Promise<boolean> {
  return await addRefused(redis, [keys.refusedWorkers, keys.workers], [id]);
}

/** Records that the service accepted a request of a worker. */
export async function removeRefusedWorker(
  redis: RedisClient,
  keys: Pick<Keys, 'refusedWorkers'>,
  id: string,
): Promise<void> {
  await redis.zrem(keys.refusedWorkers, id);
}
