import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import { scanKeys } from '../redis/with-redis.ts';

/** Removes a key that still names this notice: it may have expired, and another notice have it, since it was read. */
const removeKey = defineScript({
  name: 'remove an idempotency key',
  keys: 1,
  lua: `return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0`,
  parse: Number,
});

/**
 * Removes the idempotency keys of notices whose jobs are deleted already: their values contain a fingerprint of the
 * notice. Scans all keys of the server in steps.
 *
 * @param notices ids of the notices' jobs
 * @returns how many were removed
 */
export async function eraseIdempotencyKeys(
  redis: RedisClient,
  keys: Pick<Keys, 'noticeJob'>,
  notices: ReadonlySet<string>,
): Promise<number> {
  if (notices.size === 0) return 0;
  let erased = 0;
  for await (const page of scanKeys(redis, `${keys.noticeJob('de:')}*`)) {
    const held = await Promise.all(page.map((key) => redis.get(key)));
    for (const [index, key] of page.entries()) {
      const id = held[index] ?? '';
      if (notices.has(id)) erased += await removeKey(redis, [key], [id]);
    }
  }
  return erased;
}
