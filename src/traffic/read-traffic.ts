import { OUTCOME_KINDS, type OutcomeKind } from '../contracts/outcome.ts';
import { LANES, type LaneName } from '../contracts/seen-attempt.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { redisTime } from '../redis/server-clock.ts';
import { noCounts, positionOf } from './counters.ts';
import {
  DURATION_BOUNDS_MS,
  percentiles,
  type DurationName,
  type Percentiles,
} from './histogram.ts';
import {
  blockKeys,
  countsIn,
  FINE,
  MINUTES,
  SLOTS_PER_BLOCK,
  type TrafficResolution,
} from './time-slots.ts';

/** What the workers did in one span of time. Percentiles are absent where nothing was measured. */
export interface TrafficPoint {
  /** Beginning of the span: Redis time, milliseconds since the epoch. */
  readonly at: number;
  /** Length of the span in milliseconds; the last one of a series is not over yet. */
  readonly spanMs: number;
  /** Requests put on a connected socket; a renewed token makes two of one attempt. */
  readonly requests: number;
  readonly attempts: Readonly<Record<OutcomeKind, number>>;
  readonly contacts: Readonly<Record<OutcomeKind, number>>;
  readonly lanes: Readonly<
    Record<LaneName, { readonly accepted: number; readonly contactsAccepted: number }>
  >;
  /** How long the service took to answer, in milliseconds. */
  readonly answerMs?: Percentiles;
  /** How long jobs were due before their first attempt was made. */
  readonly queueWaitMs?: Percentiles;
  readonly tokenWaitMs?: Percentiles;
}

/** The traffic record of the account. */
export interface Traffic {
  /** Redis time, milliseconds since the epoch. */
  readonly at: number;
  /**
   * The last half minute that is over; divide by `spanMs` for what goes now. Workers report with
   * their heartbeats (HEARTBEAT_MS), so a count is seen up to so much later.
   */
  readonly now: TrafficPoint;
  /** The last ten minutes, in steps of ten seconds, the oldest first. */
  readonly recent: readonly TrafficPoint[];
  /** The minutes asked for, the oldest first. */
  readonly series: readonly TrafficPoint[];
  /** All of `series` in one. */
  readonly total: TrafficPoint;
}

/** The record goes back so many minutes. */
export const TRAFFIC_MINUTES = MINUTES.keepMs / MINUTES.slotMs;

const RECENT_MS = 10 * 60_000;
const NOW_SLOTS = 3;

/** Counts of one slot, with its time. */
interface TrafficSlot {
  readonly at: number;
  readonly spanMs: number;
  readonly counts: readonly number[];
}

/**
 * Reads the traffic record with two commands, however many minutes and workers there are.
 *
 * @param span minutes to look back, at most {@link TRAFFIC_MINUTES}, and how many of them make one
 *   point of the series (default 1)
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function readTraffic(
  redis: RedisClient,
  keys: Keys,
  span: { readonly minutes: number; readonly minutesPerPoint?: number },
): Promise<Traffic> {
  const minutes = Math.min(Math.max(1, Math.floor(span.minutes)), TRAFFIC_MINUTES);
  const perPoint = Math.max(1, Math.floor(span.minutesPerPoint ?? 1));
  try {
    const at = Math.floor(await redisTime(redis));
    const from = at - (minutes - 1) * MINUTES.slotMs;
    const fine = blockKeys(keys, FINE, at - RECENT_MS, at);
    const coarse = blockKeys(keys, MINUTES, from, at);
    const blocks = await redis.mgetBuffer([...fine, ...coarse].map(({ key }) => key));
    const recent = slots(fine, blocks, FINE, at - RECENT_MS + FINE.slotMs, at);
    const series = slots(coarse, blocks.slice(fine.length), MINUTES, from, at);
    return {
      at,
      now: pointOf(merge(recent.slice(-1 - NOW_SLOTS, -1))),
      recent: recent.map(pointOf),
      series: inGroups(series, perPoint).map((group) => pointOf(merge(group))),
      total: pointOf(merge(series)),
    };
  } catch (error) {
    throw redisFailure(error);
  }
}

/** The slots from one moment to another; the last one is as long as it has lasted. */
function slots(
  keys: readonly { readonly startsAt: number }[],
  blocks: readonly (Buffer | null)[],
  { slotMs }: TrafficResolution,
  from: number,
  to: number,
): TrafficSlot[] {
  return keys.flatMap(({ startsAt }, block) =>
    Array.from({ length: SLOTS_PER_BLOCK }, (_, slot) => slot).flatMap((slot) => {
      const at = startsAt + slot * slotMs;
      if (at + slotMs <= from || at > to) return [];
      const counts = countsIn(blocks[block] ?? null, slot);
      return [{ at, spanMs: Math.max(1, Math.min(slotMs, to - at)), counts }];
    }),
  );
}

function merge(some: readonly TrafficSlot[]): TrafficSlot {
  const counts = noCounts().map((_, position) =>
    some.reduce((sum, slot) => sum + (slot.counts[position] ?? 0), 0),
  );
  return {
    at: some[0]?.at ?? 0,
    spanMs: some.reduce((sum, { spanMs }) => sum + spanMs, 0),
    counts,
  };
}

/** Groups of so many, cut from the end, so that only the first may be shorter. */
function inGroups(all: readonly TrafficSlot[], size: number): TrafficSlot[][] {
  const groups: TrafficSlot[][] = [];
  for (let end = all.length; end > 0; end -= size) {
    groups.unshift(all.slice(Math.max(0, end - size), end));
  }
  return groups;
}

function pointOf({ at, spanMs, counts }: TrafficSlot): TrafficPoint {
  const of = (counter: Parameters<typeof positionOf>[0]) => counts[positionOf(counter)] ?? 0;
  const byOutcome = (what: 'attempts' | 'contacts') =>
    Object.fromEntries(
      OUTCOME_KINDS.map((kind) => [
        kind,
        LANES.reduce((sum, lane) => sum + of(`${what}:${lane}:${kind}`), 0),
      ]),
    ) as Record<OutcomeKind, number>;
  const lane = (name: LaneName) => ({
    accepted: of(`attempts:${name}:accepted`),
    contactsAccepted: of(`contacts:${name}:accepted`),
  });
  const duration = (name: DurationName) => {
    const first = positionOf(`${name}:0`);
    const bounds = DURATION_BOUNDS_MS[name];
    return percentiles(bounds, counts.slice(first, first + bounds.length + 1));
  };
  const [answerMs, queueWaitMs, tokenWaitMs] = [
    duration('answer'),
    duration('queueWait'),
    duration('tokenWait'),
  ];
  return {
    at,
    spanMs,
    requests: LANES.reduce((sum, name) => sum + of(`requests:${name}`), 0),
    attempts: byOutcome('attempts'),
    contacts: byOutcome('contacts'),
    lanes: { notices: lane('notices'), chunks: lane('chunks') },
    ...(answerMs === undefined ? {} : { answerMs }),
    ...(queueWaitMs === undefined ? {} : { queueWaitMs }),
    ...(tokenWaitMs === undefined ? {} : { tokenWaitMs }),
  };
}
