import type { Keys } from '../redis/keys.ts';
import { COUNTERS, LAYOUT } from './counters.ts';

/** How finely time is cut, and how long it is kept. All in milliseconds. */
export interface TrafficResolution {
  readonly slotMs: number;
  readonly keepMs: number;
}

/** What moves right now: the last twenty minutes. */
export const FINE: TrafficResolution = { slotMs: 10_000, keepMs: 20 * 60_000 };

/** The last two days. */
export const MINUTES: TrafficResolution = { slotMs: 60_000, keepMs: 48 * 3_600_000 };

/** Slots of one Redis key, a block: ten minutes of fine slots, an hour of minutes. */
export const SLOTS_PER_BLOCK = 60;

/** A counter is an unsigned number of 32 bits, big-endian, as BITFIELD keeps it. */
const COUNTER_BYTES = 4;

const SLOT_BYTES = COUNTERS.length * COUNTER_BYTES;

/** Where a moment's slot is: its key, and the number of its first counter in there. */
export interface SlotPlace {
  readonly key: string;
  readonly firstCounter: number;
  /** How long the block must live from now on for its last slot to be kept long enough. */
  readonly lifeMs: number;
}

/** @param at Redis time, milliseconds since the epoch */
export function placeOf(keys: Keys, { slotMs, keepMs }: TrafficResolution, at: number): SlotPlace {
  const slot = Math.floor(at / slotMs);
  const block = Math.floor(slot / SLOTS_PER_BLOCK);
  return {
    key: keys.traffic(LAYOUT, slotMs, block),
    firstCounter: (slot % SLOTS_PER_BLOCK) * COUNTERS.length,
    lifeMs: keepMs + slotMs * SLOTS_PER_BLOCK,
  };
}

/** Keys of the blocks that hold the slots from one moment to another, the oldest first. */
export function blockKeys(
  keys: Keys,
  { slotMs }: TrafficResolution,
  from: number,
  to: number,
): { readonly key: string; readonly startsAt: number }[] {
  const blockMs = slotMs * SLOTS_PER_BLOCK;
  const first = Math.floor(from / blockMs);
  const last = Math.floor(to / blockMs);
  return Array.from({ length: last - first + 1 }, (_, index) => ({
    key: keys.traffic(LAYOUT, slotMs, first + index),
    startsAt: (first + index) * blockMs,
  }));
}

/** The counters of one slot of a block; zeros where the block ends before it, or is not there. */
export function countsIn(block: Buffer | null, slot: number): number[] {
  return COUNTERS.map((_, position) => {
    const at = slot * SLOT_BYTES + position * COUNTER_BYTES;
    return block !== null && at + COUNTER_BYTES <= block.length ? block.readUInt32BE(at) : 0;
  });
}
