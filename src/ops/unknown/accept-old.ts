import { readHold } from '../../fleet/hold/hold-scripts.ts';
import { redisTime } from '../../redis/server-clock.ts';
import { writeDuration } from '../../format/time.ts';
import type { ResolveReport } from '../resolve-unknown.ts';
import { resolveSelected } from './resolve-selected.ts';
import type { UnknownContext } from './select.ts';

/** Name in the audit stream of such a decision. */
const ACTOR = 'UNKNOWN_ACCEPTED_AFTER_MS';

/**
 * Decides that what has been unknown for longer than this was accepted. Nothing is decided while Redis is held as
 * an old copy: what is unknown in it may have been decided since.
 *
 * @param signal stops it; the rest is decided by the next call
 * @returns undefined while nothing is decided
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED, or the error of Redis itself
 */
export async function acceptOldUnknown(
  context: UnknownContext,
  olderThanMs: number,
  signal?: AbortSignal,
): Promise<ResolveReport | undefined> {
  const { redis, keys } = context;
  if ((await readHold(redis, keys))?.kind === 'restored') return undefined;
  const before = Math.floor(await redisTime(redis)) - olderThanMs;
  const why = `unknown for longer than ${writeDuration(olderThanMs)}`;
  return resolveSelected(context, { before }, { as: 'accepted', who: ACTOR, why }, signal);
}
