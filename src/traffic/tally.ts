import type { ChainableCommander } from 'ioredis';
import type { SeenAttempt } from '../contracts/seen-attempt.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { redisTime } from '../redis/server-clock.ts';
import { countAttempt, countDuration, noCounts } from './counters.ts';
import { FINE, MINUTES, placeOf } from './time-slots.ts';

/**
 * What a worker process has counted since it last wrote to the traffic record. A send costs Redis
 * nothing: the numbers are written now and then, with the same six commands whatever they are.
 *
 * The record is for looking, not for accounting (that is the ledger's). What a process has counted
 * since it last wrote dies with it. What it could not write because Redis was away or refused is
 * written the next time, and so counts for that moment; a write whose answer was lost may count
 * twice.
 */
export class TrafficTally {
  #counts = noCounts();

  attempt(attempt: SeenAttempt): void {
    countAttempt(this.#counts, attempt);
  }

  /** Time that an attempt waited for its token. */
  tokenWait(ms: number): void {
    countDuration(this.#counts, 'tokenWait', ms);
  }

  /**
   * Writes what was counted: the time is asked for, then one transaction. Nothing where nothing was
   * counted. Rejects with whatever Redis said; the counts are kept then.
   */
  async write(redis: RedisClient, keys: Keys): Promise<void> {
    if (this.#counts.every((count) => count === 0)) return;
    const at = await redisTime(redis);
    const taken = this.#counts;
    this.#counts = noCounts();
    const commands = redis.multi();
    addCounts(commands, keys, taken, at);
    try {
      await commands.exec();
    } catch (error) {
      for (const [position, count] of taken.entries()) {
        this.#counts[position] = (this.#counts[position] ?? 0) + count;
      }
      throw error;
    }
  }
}

/** Adds the commands that count for a moment. @param at Redis time, milliseconds since the epoch */
export function addCounts(
  commands: ChainableCommander,
  keys: Keys,
  counts: readonly number[],
  at: number,
): void {
  for (const resolution of [FINE, MINUTES]) {
    const { key, firstCounter, lifeMs } = placeOf(keys, resolution, at);
    const increments = counts.flatMap((count, position) =>
      count === 0 ? [] : ['INCRBY', 'u32', `#${firstCounter + position}`, count],
    );
    // Never wraps around: a slot that is full stays full.
    commands.call('BITFIELD', [key, 'OVERFLOW', 'SAT', ...increments]);
    commands.pexpire(key, lifeMs);
  }
}
