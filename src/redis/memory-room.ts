import { setTimeout } from 'node:timers/promises';
import type { RedisClient } from './connect.ts';
import { readMemory } from './facts.ts';

/**
 * Memory that stays free, so that workers can send and record what waits: a share of `maxmemory`, of a small one so many
 * bytes, since an accepted notice takes about a thousand bytes more than a waiting one, and at `most` another share. Lists
 * stop well before single notices.
 */
const KEPT_FREE = {
  notices: { share: 0.05, bytes: 10_000_000, most: 0.3 },
  lists: { share: 0.2, bytes: 20_000_000, most: 0.45 },
} as const;

/** Bytes that may be added. @param max `maxmemory`; 0 for no limit */
export function roomFor(kind: keyof typeof KEPT_FREE, used: number, max: number): number {
  const { share, bytes, most } = KEPT_FREE[kind];
  const kept = Math.max(max * share, Math.min(bytes, max * most));
  return max > 0 ? Math.max(0, max - kept - used) : Infinity;
}

/** How often and how long what needs room looks for it, in milliseconds. */
const LOOK_MS = 250;
const WAIT_MS = 60_000;

/** A reading is this old at most while something is written. */
const READ_AGAIN_MS = 1_000;
/** After this share of the room that it found, a reading is no longer relied on: others write, too. */
const SHARE_OF_READING = 0.25;

/**
 * Whether Redis has room for more notices, by its memory as it was read within about a second. It is read beside what is
 * written, which waits for it only when Redis was short, or when much was written since. Without `maxmemory`, or where
 * INFO is denied, nothing is limited.
 */
export class MemoryRoom {
  readonly #redis: RedisClient;
  readonly #kind: keyof typeof KEPT_FREE;
  /** Bytes that may be added, by the last reading. */
  #room = Infinity;
  /** Bytes that were added since it began. */
  #written = 0;
  #readAt = -Infinity;
  #reading: Promise<void> | undefined;

  constructor(redis: RedisClient, kind: keyof typeof KEPT_FREE) {
    this.#redis = redis;
    this.#kind = kind;
  }

  /** Counts what is about to be written. @returns whether there is room; a promise only where Redis must be asked */
  has(bytes: number): boolean | Promise<boolean> {
    if (this.#written + bytes > this.#room * SHARE_OF_READING) return this.#hasNow(bytes);
    this.#written += bytes;
    if (performance.now() - this.#readAt >= READ_AGAIN_MS) void this.#read();
    return true;
  }

  /** Waits for room, a minute at most. @returns whether there is room; false also where the signal ended it */
  async wait(bytes: number, signal: AbortSignal | undefined): Promise<boolean> {
    const until = performance.now() + WAIT_MS;
    while (!(await this.#hasNow(bytes))) {
      if (signal?.aborted === true || performance.now() > until) return false;
      await setTimeout(LOOK_MS, undefined, { signal }).catch(() => {});
    }
    return true;
  }

  async #hasNow(bytes: number): Promise<boolean> {
    await this.#read();
    return bytes <= this.#room * SHARE_OF_READING && this.has(bytes);
  }

  /** Shared by those who wait for it. */
  #read(): Promise<void> {
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readNow(): Promise<void> {
    this.#readAt = performance.now();
    this.#written = 0;
    try {
      const { used, max } = await readMemory(this.#redis);
      this.#room = roomFor(this.#kind, used, max);
    } catch {
      this.#room = Infinity;
    }
  }
}
