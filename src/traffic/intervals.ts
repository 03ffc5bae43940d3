import type { Keys } from '../redis/keys.ts';
import { COUNTERS, LAYOUT } from './counters.ts';

/** Length of the intervals, and how long they are kept, in milliseconds. */
export interface TrafficResolution {
  readonly intervalMs: number;
  readonly keepMs: number;
}

/** The last twenty minutes in intervals of ten seconds. */
export const FINE: TrafficResolution = { intervalMs: 10_000, keepMs: 20 * 60_000 };

/** The last two days in minutes. */
export const MINUTES: TrafficResolution = { intervalMs: 60_000, keepMs: 48 * 3_600_000 };

/** Intervals per Redis key (a block): ten minutes of fine intervals, an hour of minutes. */
export const INTERVALS_PER_BLOCK = 60;

/** A counter is an unsigned 32-bit number, big-endian, as BITFIELD stores it. */
const COUNTER_BYTES = 4;

const INTERVAL_BYTES = COUNTERS.length * COUNTER_BYTES;

/** Location of an interval: its key, and the index of its first counter in it. */
export interface IntervalLocation {
  readonly key: string;
  readonly firstCounter: number;
  /** Time to live of the block, so that its last interval is kept long enough. */
  readonly lifeMs: number;
}

/** @param at Redis time, milliseconds since the epoch */
export function locate(
  keys: Keys,
  { intervalMs, keepMs }: TrafficResolution,
  at: number,
): IntervalLocation {
  const interval = Math.floor(at / intervalMs);
  const block = Math.floor(interval / INTERVALS_PER_BLOCK);
  return {
    key: keys.traffic(LAYOUT, intervalMs, block),
    firstCounter: (interval % INTERVALS_PER_BLOCK) * COUNTERS.length,
    lifeMs: keepMs + intervalMs * INTERVALS_PER_BLOCK,
  };
}

/** Keys of the blocks that contain the intervals between two times, oldest first. */
export function blockKeys(
  keys: Keys,
  { intervalMs }: TrafficResolution,
  from: number,
  to: number,
): { readonly key: string; readonly startsAt: number }[] {
  const blockMs = intervalMs * INTERVALS_PER_BLOCK;
  const first = Math.floor(from / blockMs);
  const last = Math.floor(to / blockMs);
  return Array.from({ length: last - first + 1 }, (_, index) => ({
    key: keys.traffic(LAYOUT, intervalMs, first + index),
    startsAt: (first + index) * blockMs,
  }));
}

/** The counters of one interval of a block; zeros when the block is shorter or missing. */
export function countsIn(block: Buffer | null, interval: number): number[] {
  return COUNTERS.map((_, position) => {
    const at = interval * INTERVAL_BYTES + position * COUNTER_BYTES;
    return block !== null && at + COUNTER_BYTES <= block.length ? block.readUInt32BE(at) : 0;
  });
}
