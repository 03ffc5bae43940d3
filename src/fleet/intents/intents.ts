import type { RedisClient } from '../../redis/connect.ts';
import { redisFailure } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';
import type { Script } from '../../redis/script.ts';
import { beginIntent, endIntent, type IntentVerdict } from './intent-scripts.ts';

export interface IntentAttempt {
  readonly job: string;
  readonly nonce: string;
}

/**
 * The intents of single notices with delivery at-most-once. A notice, identified by its job, is in one of these states:
 *
 * - idle: nothing is recorded. idle -> open: {@link begin}, right before the request.
 * - open: a request may be in progress. open -> idle: {@link end} with `back`, the service did not take it, or the record
 *   of the end of the notice (src/notices/end-scripts.ts), by the attempt itself or by the next run, which finds that the
 *   earlier one never ended. open -> accepted: {@link end}.
 * - accepted: nothing is sent any more; removed once BullMQ has recorded the end of the job.
 *
 * All methods throw NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED.
 */
export class Intents {
  readonly #redis: RedisClient;
  readonly #keys: Keys;

  constructor(redis: RedisClient, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /**
   * Opens the intent of an attempt.
   *
   * @param lockToken the worker's token of the job's lock
   * @param worker id of the worker, for debugging
   */
  begin(attempt: IntentAttempt, lockToken: string, worker: string): Promise<IntentVerdict> {
    const { job, nonce } = attempt;
    return this.#run(beginIntent, [job, nonce, lockToken, worker]);
  }

  /** Records the end of an attempt. Safe to repeat. */
  async end({ job, nonce }: IntentAttempt, as: 'accepted' | 'back'): Promise<void> {
    await this.#run(endIntent, [job, nonce, as]);
  }

  /** Whether an attempt was started that has no known end. */
  async isOpen(job: string): Promise<boolean> {
    try {
      return (await this.#redis.hexists(this.#keys.history, `intent:${job}`)) === 1;
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async #run<Answer>(script: Script<Answer>, args: readonly string[]): Promise<Answer> {
    const { history, acceptedIntents, ended } = this.#keys;
    try {
      const jobs = this.#keys.noticeJob('');
      return await script(this.#redis, [history, acceptedIntents, ended], [jobs, ...args]);
    } catch (error) {
      throw redisFailure(error);
    }
  }
}
