import type { Keys } from '../redis/keys.ts';
import { LAYOUT, LAYOUTS, noCounts, type Layout } from './counters.ts';

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
    key: keys.traffic(LAYOUT.version, intervalMs, block),
    firstCounter: (interval % INTERVALS_PER_BLOCK) * LAYOUT.length,
    lifeMs: keepMs + intervalMs * INTERVALS_PER_BLOCK,
  };
}

/** The intervals of one block, stored once for each of the {@link LAYOUTS}. */
export interface Block {
  readonly startsAt: number;
  readonly stored: readonly { readonly key: string; readonly layout: Layout }[];
}

/** The blocks that contain the intervals between two times, oldest first. */
export function blocksBetween(
  keys: Keys,
  { intervalMs }: TrafficResolution,
  from: number,
  to: number,
): Block[] {
  const blockMs = intervalMs * INTERVALS_PER_BLOCK;
  const first = Math.floor(from / blockMs);
  const last = Math.floor(to / blockMs);
  return Array.from({ length: last - first + 1 }, (_, index) => ({
    startsAt: (first + index) * blockMs,
    stored: LAYOUTS.map((layout) => ({
      key: keys.traffic(layout.version, intervalMs, first + index),
      layout,
    })),
  }));
}

/**
 * The counters of one interval of a block, all layouts together; zeros where nothing is stored.
 *
 * @param bytes of the keys
 */
export function countsIn(
  { stored }: Block,
  bytes: ReadonlyMap<string, Buffer | null>,
  interval: number,
): number[] {
  const counts = noCounts();
  for (const { key, layout } of stored) {
    const found = bytes.get(key) ?? Buffer.alloc(0);
    const first = interval * layout.length * COUNTER_BYTES;
    for (let position = 0; position < layout.length; position++) {
      const at = first + position * COUNTER_BYTES;
      if (at + COUNTER_BYTES > found.length) break;
      counts[position] = (counts[position] ?? 0) + found.readUInt32BE(at);
    }
  }
  return counts;
}
