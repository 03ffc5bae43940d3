import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { scanKeys } from '../redis/remove-account.ts';

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
    const found = page.filter((_, index) => notices.has(held[index] ?? ''));
    for (const key of found) erased += await redis.del(key);
  }
  return erased;
}
