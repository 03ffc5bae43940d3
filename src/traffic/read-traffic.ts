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
  blocksBetween,
  countsIn,
  FINE,
  MINUTES,
  INTERVALS_PER_BLOCK,
  type Block,
  type TrafficResolution,
} from './intervals.ts';

/** What the workers did in one period. Percentiles are absent when nothing was measured. */
export interface TrafficPoint {
  /** Start of the period: Redis time, milliseconds since the epoch. */
  readonly at: number;
  /** Length of the period in milliseconds; the last one of a series is not over yet. */
  readonly spanMs: number;
  /** Requests written to a connected socket; an attempt with a renewed token makes two. */
  readonly requests: number;
  readonly attempts: Readonly<Record<OutcomeKind, number>>;
  readonly contacts: Readonly<Record<OutcomeKind, number>>;
  readonly lanes: Readonly<
    Record<LaneName, { readonly accepted: number; readonly contactsAccepted: number }>
  >;
  /** Contacts sent again although the service may have accepted an earlier request, both lanes. */
  readonly possiblySentTwice: number;
  /** Response time of the service, in milliseconds. */
  readonly answerMs?: Percentiles;
  /** Time from when jobs were due to their first attempt. */
  readonly queueWaitMs?: Percentiles;
  /** Time that attempts waited for their token. */
  readonly tokenWaitMs?: Percentiles;
}

/** The traffic record of the account. */
export interface Traffic {
  /** Redis time, milliseconds since the epoch. */
  readonly at: number;
  /**
   * The last complete half minute; divide by `spanMs` for the present rate. Workers report every
   * HEARTBEAT_MS, so counts appear with that delay.
   */
  readonly now: TrafficPoint;
  /** The last ten minutes, in steps of ten seconds, oldest first. */
  readonly recent: readonly TrafficPoint[];
  /** The requested minutes, oldest first. */
  readonly series: readonly TrafficPoint[];
  /** The sum of `series`. */
  readonly total: TrafficPoint;
}

/** How many minutes the record goes back. */
export const TRAFFIC_MINUTES = MINUTES.keepMs / MINUTES.intervalMs;

const RECENT_MS = 10 * 60_000;
const NOW_INTERVALS = 3;

/** The counts of one interval. */
interface TrafficInterval {
  readonly at: number;
  readonly spanMs: number;
  readonly counts: readonly number[];
}

/**
 * Reads the traffic record with two commands, for any number of minutes and workers.
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
    const from = at - (minutes - 1) * MINUTES.intervalMs;
    const fine = blocksBetween(keys, FINE, at - RECENT_MS, at);
    const coarse = blocksBetween(keys, MINUTES, from, at);
    const names = [...fine, ...coarse].flatMap(({ stored }) => stored.map(({ key }) => key));
    const found = await redis.mgetBuffer(names);
    const bytes = new Map(names.map((name, index) => [name, found[index] ?? null]));
    const recent = intervalsOf(fine, bytes, FINE, at - RECENT_MS + FINE.intervalMs, at);
    const series = intervalsOf(coarse, bytes, MINUTES, from, at);
    return {
      at,
      now: pointOf(merge(recent.slice(-1 - NOW_INTERVALS, -1))),
      recent: recent.map(pointOf),
      series: inGroups(series, perPoint).map((group) => pointOf(merge(group))),
      total: pointOf(merge(series)),
    };
  } catch (error) {
    throw redisFailure(error);
  }
}

/** The intervals between two times; the last one has its length so far. */
function intervalsOf(
  blocks: readonly Block[],
  bytes: ReadonlyMap<string, Buffer | null>,
  { intervalMs }: TrafficResolution,
  from: number,
  to: number,
): TrafficInterval[] {
  return blocks.flatMap((block) =>
    Array.from({ length: INTERVALS_PER_BLOCK }, (_, index) => index).flatMap((index) => {
      const at = block.startsAt + index * intervalMs;
      if (at + intervalMs <= from || at > to) return [];
      const counts = countsIn(block, bytes, index);
      return [{ at, spanMs: Math.max(1, Math.min(intervalMs, to - at)), counts }];
    }),
  );
}

function merge(some: readonly TrafficInterval[]): TrafficInterval {
  const counts = noCounts().map((_, position) =>
    some.reduce((sum, each) => sum + (each.counts[position] ?? 0), 0),
  );
  return {
    at: some[0]?.at ?? 0,
    spanMs: some.reduce((sum, { spanMs }) => sum + spanMs, 0),
    counts,
  };
}

/** Groups of `size`, formed from the end, so that only the first may be shorter. */
function inGroups(all: readonly TrafficInterval[], size: number): TrafficInterval[][] {
  const groups: TrafficInterval[][] = [];
  for (let end = all.length; end > 0; end -= size) {
    groups.unshift(all.slice(Math.max(0, end - size), end));
  }
  return groups;
}

function pointOf({ at, spanMs, counts }: TrafficInterval): TrafficPoint {
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
    possiblySentTwice: LANES.reduce((sum, name) => sum + of(`possiblySentTwice:${name}`), 0),
    lanes: { notices: lane('notices'), chunks: lane('chunks') },
    ...(answerMs === undefined ? {} : { answerMs }),
    ...(queueWaitMs === undefined ? {} : { queueWaitMs }),
    ...(tokenWaitMs === undefined ? {} : { tokenWaitMs }),
  };
}
