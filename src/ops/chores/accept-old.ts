import { readHold } from '../../fleet/hold/holds.ts';
import { writeDuration } from '../../format/time.ts';
import { redisTime } from '../../redis/server-clock.ts';
import { decide, type DecideReport } from '../decide.ts';
import type { EntrySource } from '../entries.ts';

/**
 * Decides that what has been unknown for longer than this was accepted. Nothing is decided while Redis is held as an old
 * copy: what is unknown in it may have been decided since.
 *
 * @returns undefined while nothing is decided
 */
export async function acceptOldUnknown(
  context: EntrySource,
  olderThanMs: number,
  signal?: AbortSignal,
): Promise<DecideReport | undefined> {
  const { redis, keys } = context;
  if ((await readHold(redis, keys))?.kind === 'restored') return undefined;
  const before = Math.floor(await redisTime(redis)) - olderThanMs;
  const why = `unknown for longer than ${writeDuration(olderThanMs)}`;
  const decision = { as: 'accepted', who: 'UNKNOWN_ACCEPTED_AFTER_MS', why, signal } as const;
  return decide(context, { state: 'unknown', before }, decision);
}
