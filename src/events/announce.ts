import type { RedisClient } from '../redis/connect.ts';
import { LEAST_EVENTS, type Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';

/**
 * Appends that a notice was accepted: one command, which a worker sends together with the one that completes the job. The
 * ends of others are appended with their records (src/notices/end-scripts.ts). The names of the fields and their order
 * never change: Redis stores equal names once.
 *
 * @param most events that are kept (NOTICE_EVENTS)
 * @param lockToken where it is appended only while the lock of the job has this token
 * @returns whether it was appended
 */
export async function announceAccepted(
  redis: RedisClient,
  { events, noticeLock }: Pick<Keys, 'events' | 'noticeLock'>,
  notice: string,
  most: number,
  lockToken = '',
): Promise<boolean> {
  const fields = ['notice', notice, 'state', 'accepted', 'code', ''] as const;
  const kept = Math.max(most, LEAST_EVENTS);
  return append(redis, [events, noticeLock(notice)], [lockToken, kept, ...fields]);
}

/**
 * Redis takes the end of a job also while it is out of memory, which frees some, and so it must take the event: after a
 * first write it refuses no other in the same script. KEYS: events, the lock of the job. ARGV: its token, or empty; how
 * many events are kept; the fields.
 */
const append = defineScript({
  name: 'append an event',
  // Before the command that ends the job.
  inOrder: true,
  lua: `
if ARGV[1] ~= '' and redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', ARGV[2])
redis.call('XADD', KEYS[1], '*', unpack(ARGV, 3))
return 1`,
  parse: (reply: unknown) => reply === 1,
});

/** Deletes the oldest events. @param most how many are kept (NOTICE_EVENTS), but at least {@link LEAST_EVENTS} */
export async function trimEvents(
  client: RedisClient,
  { events }: Pick<Keys, 'events'>,
  most: number,
): Promise<void> {
  await client.xtrim(events, 'MAXLEN', '~', Math.max(most, LEAST_EVENTS));
}
