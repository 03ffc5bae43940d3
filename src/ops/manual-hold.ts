import { HOLDS, type Hold, type HoldKind } from '../contracts/hold.ts';
import { placeManualHold, liftManualHold, readHold } from '../fleet/hold/hold-gate.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import type { Actor } from './actor.ts';
import { appendAudit } from './audit.ts';

/** The longest reason of a hold; it stands where others have a code. */
export const MAX_HOLD_REASON = 100;

/** A hold with its words for a person. */
export interface ExplainedHold extends Hold {
  readonly reason: string;
  readonly remedy: string;
}

/** Where the hold is. */
interface HoldTarget {
  readonly redis: RedisClient;
  readonly keys: Keys;
}

/** Adds what the kind of the hold means. */
export function explainHold(hold: Hold): ExplainedHold {
  const { reason, remedy } = HOLDS[hold.kind];
  return { ...hold, reason, remedy };
}

/**
 * The hold in force; undefined where the queue flows.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function holdInForce({ redis, keys }: HoldTarget): Promise<ExplainedHold | undefined> {
  try {
    const hold = await readHold(redis, keys);
    return hold === undefined ? undefined : explainHold(hold);
  } catch (error) {
    throw redisFailure(error);
  }
}

/**
 * Holds the queue until a person lifts it, and writes down who did.
 *
 * @returns the hold that is in force then
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function placeAuditedHold(
  place: HoldTarget,
  actor: Actor,
): Promise<ExplainedHold | undefined> {
  const { redis, keys } = place;
  try {
    await placeManualHold(redis, keys, actor.why);
    await appendAudit(redis, keys, { ...actor, what: 'hold', target: 'queue', as: 'placed' });
    return await holdInForce(place);
  } catch (error) {
    throw redisFailure(error);
  }
}

/**
 * Ends the hold in force, and writes down who did.
 *
 * @returns its kind; undefined where nothing held
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function liftAuditedHold(
  { redis, keys }: HoldTarget,
  actor: Actor,
): Promise<HoldKind | undefined> {
  try {
    const lifted = await liftManualHold(redis, keys);
    if (lifted !== undefined) {
      const as = `lifted ${lifted}`;
      await appendAudit(redis, keys, { ...actor, what: 'hold', target: 'queue', as });
    }
    return lifted;
  } catch (error) {
    throw redisFailure(error);
  }
}
