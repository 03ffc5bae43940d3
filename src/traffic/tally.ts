import type { ChainableCommander } from 'ioredis';
import type { SeenAttempt } from '../contracts/seen-attempt.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { redisTime } from '../redis/server-clock.ts';
import { countAttempt, countDuration, noCounts } from './counters.ts';
import { FINE, MINUTES, locate } from './intervals.ts';

/**
 * The counts of a worker process since its last write to the traffic record. A send costs Redis nothing:
 * the counts are written every HEARTBEAT_MS with the same seven commands, or none without counts.
 *
 * The record is for charts, not for accounting, which is the task of the ledger. Counts that were not
 * written are lost with the process. Counts that Redis refused are written the next time and count for
 * that time; a write whose answer was lost may count twice.
 */
export class TrafficTally {
  #counts = noCounts();

  /** Counts one attempt. */
  attempt(attempt: SeenAttempt): void {
    countAttempt(this.#counts, attempt);
  }

  /** Counts the time that an attempt waited for its token. */
  tokenWait(ms: number): void {
    countDuration(this.#counts, 'tokenWait', ms);
  }

  /**
   * Writes the counts: reads Redis time, then runs one transaction. Does nothing without counts.
   *
   * @throws the error of the Redis client; the counts are then kept for the next write
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

/** Adds the commands that add counts at a time. @param at Redis time, milliseconds since the epoch */
export function addCounts(
  commands: ChainableCommander,
  keys: Keys,
  counts: readonly number[],
  at: number,
): void {
  for (const resolution of [FINE, MINUTES]) {
    const { key, firstCounter, lifeMs } = locate(keys, resolution, at);
    const increments = counts.flatMap((count, position) =>
      count === 0 ? [] : ['INCRBY', 'u32', `#${firstCounter + position}`, count],
    );
    // SAT: a counter that is full stays full instead of wrapping around.
    commands.call('BITFIELD', [key, 'OVERFLOW', 'SAT', ...increments]);
    commands.pexpire(key, lifeMs);
  }
}
