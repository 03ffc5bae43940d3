import { randomUUID } from 'node:crypto';
import { hintChannel } from '../../redis/hints.ts';
import { HOLDS, type Hold, type HoldKind } from '../../contracts/hold.ts';
import type { RedisClient } from '../../redis/connect.ts';
import type { Keys } from '../../redis/keys.ts';
import { boundFleet, holdKeys, liftManual, placeManual } from './hold-scripts.ts';

/** Reads the hold in effect; undefined when there is none. */
export async function readHold(redis: RedisClient, keys: Keys): Promise<Hold | undefined> {
  const fields = await redis.hgetall(keys.hold);
  const kind = fields['kind'];
  if (kind === undefined || !(kind in HOLDS)) return undefined;
  return {
    kind: kind as HoldKind,
    code: fields['code'] ?? '',
    since: Number(fields['since']),
    nextProbeAt: Number(fields['nextProbeAt']),
    failedProbes: Number(fields['failedProbes']),
  };
}

/**
 * Holds the queue manually, until {@link liftManualHold}.
 *
 * @param why a few words, shown as the hold's code by `notices status`
 * @returns false where the hold `restored` is in effect, which stays
 * @throws ScriptFailure
 */
export async function placeManualHold(
  redis: RedisClient,
  keys: Keys,
  why: string,
): Promise<boolean> {
  const args = [why, hintChannel(redis, keys.holdHints)];
  return (await placeManual(redis, holdKeys(keys), args)) === 1;
}

/**
 * Lifts the hold in effect. If its cause persists, the next send places it again.
 *
 * @param seen the kind that the person has seen: no other one is lifted. Default: any
 * @returns the kind of the hold in effect; undefined when there was none
 * @throws ScriptFailure
 */
export async function liftManualHold(
  redis: RedisClient,
  keys: Keys,
  seen?: HoldKind,
): Promise<HoldKind | undefined> {
  const from = [...holdKeys(keys), keys.done(randomUUID()), keys.lifted];
  const args = [hintChannel(redis, keys.holdHints), seen ?? ''];
  const kind = String(await liftManual(redis, from, args));
  return kind in HOLDS ? (kind as HoldKind) : undefined;
}

/**
 * To be called when the clock of Redis went back: holds, what else keeps workers from fetching jobs, and the look at
 * open batches then last no longer than they were to last at first. Safe to repeat, and without effect at any
 * other time.
 *
 * @throws ScriptFailure
 */
export async function boundWaits(redis: RedisClient, keys: Keys): Promise<void> {
  const bounded = [...holdKeys(keys), ...keys.stalledChecks, keys.openBatches];
  await boundFleet(redis, bounded, []);
}
