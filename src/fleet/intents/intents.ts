import type { DeliveryPolicy } from '../../contracts/outcome.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { redisFailure } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';
import type { Script } from '../../redis/script.ts';
import { beginIntents, endIntents, forgetStale, parkIntents } from './intent-scripts.ts';

/**
 * What an attempt may do:
 *
 * - `send`: its intent is recorded.
 * - `lost`: another worker has the job.
 * - `unknown`: an earlier attempt has no known end; the service may have taken its request.
 * - `accepted`: an earlier attempt was accepted, and its worker died before BullMQ recorded it.
 */
export type IntentVerdict = 'send' | 'lost' | 'unknown' | 'accepted';

/** What is stored of a notice whose outcome is unknown: no number, no variable. */
export interface UnknownFacts {
  readonly template: string;
  /** How many. */
  readonly contacts: number;
  readonly code: string;
  /**
   * The last known stage of the attempt: `begun` (started, nothing more is known), the request was
   * `sent`, it was `answered`, or `accepted` when the answer arrived after the notice was listed.
   */
  readonly stage: 'begun' | 'sent' | 'answered' | 'accepted';
  readonly delivery: DeliveryPolicy;
  /** How many of its attempts the service may have accepted. */
  readonly possiblySent: number;
  /** The service's trace id of the last attempt, where its answer had one: names it at the service. */
  readonly traceId?: string | undefined;
  /** The same of the attempts before it that the service may have accepted, oldest first; at most ten. */
  readonly earlierTraceIds?: readonly string[] | undefined;
}

/** One attempt at a notice. */
export interface IntentAttempt {
  readonly job: string;
  /** Names the attempt. */
  readonly nonce: string;
}

/**
 * The intents of single notices with delivery at-most-once, and the list of notices whose outcome is
 * unknown. Every transition handles all notices of one request in one round trip. A notice, identified by
 * its job, is in one of these states:
 *
 * - idle: nothing is recorded. idle -> open: {@link begin}, right before the request.
 * - open: a request may be in progress. open -> idle: {@link end} with `back`, the service did not take
 *   it. open -> accepted: {@link end}. open -> unknown: {@link park}, by the attempt itself or by the
 *   next run, which finds that the earlier one never ended.
 * - accepted: nothing is sent any more; removed once BullMQ has recorded the end of the job.
 * - unknown: listed until its outcome is decided or its retention ends. unknown -> idle: it is sent again
 *   (src/notices/change-failed.ts). Otherwise it is removed.
 *
 * A notice with delivery at-least-once goes from idle to unknown when its last attempt ends as unknown,
 * and costs no other command. All methods throw NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED; the
 * transition then happened for all notices or for none.
 */
export class Intents {
  readonly #redis: RedisClient;
  readonly #keys: Keys;

  constructor(redis: RedisClient, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /**
   * Opens an intent for each attempt.
   *
   * @param attempts each with the worker's token of its job's lock
   * @param worker id of the worker, for debugging
   * @returns the verdicts, in the order of the attempts
   */
  async begin(
    attempts: readonly (IntentAttempt & { readonly lockToken: string })[],
    worker: string,
  ): Promise<IntentVerdict[]> {
    const notices = attempts.map(({ job, nonce, lockToken }) => [job, nonce, lockToken]);
    return (await this.#run(beginIntents, worker, '', notices)) as IntentVerdict[];
  }

  /** Records the end of attempts. Safe to repeat. */
  async end(attempts: readonly IntentAttempt[], as: 'accepted' | 'back'): Promise<void> {
    const notices = attempts.map(({ job, nonce }) => [job, nonce, '']);
    await this.#run(endIntents, as, '', notices);
  }

  /**
   * Lists notices as unknown. Safe to repeat.
   *
   * @param attempts each with the facts to store
   * @param whose the intents it ends: these attempts', those of any, those of any and only where there is one (`open`), or
   *   none for at-least-once notices
   * @param keepMs how long the entries are kept (KEEP_FAILED_MS)
   * @returns for each 1, also where an earlier run has listed it, or 0 where it was not its intent, or there is none
   */
  async park(
    attempts: readonly (IntentAttempt & { readonly facts: UnknownFacts })[],
    whose: 'own' | 'any' | 'open' | 'none',
    keepMs: number,
  ): Promise<readonly number[]> {
    const notices = attempts.map(({ job, nonce, facts }) => [job, nonce, JSON.stringify(facts)]);
    return await this.#run(parkIntents, keepMs, whose, notices);
  }

  /** Removes those of the notices from the list whose jobs are gone, have completed or were sent again. Safe to repeat. */
  async forgetStale(jobs: readonly string[]): Promise<void> {
    await this.#run(
      forgetStale,
      '',
      '',
      jobs.map((job) => [job, '', '']),
    );
  }

  async #run<Answer>(
    script: Script<readonly Answer[]>,
    second: string | number,
    third: string,
    notices: readonly (readonly string[])[],
  ): Promise<readonly Answer[]> {
    const { accepted, unknown, unknownAt } = this.#keys.intents;
    const args = [this.#keys.noticeJob(''), second, third, ...notices.flat()];
    try {
      return await script(this.#redis, [this.#keys.history, accepted, unknown, unknownAt], args);
    } catch (error) {
      throw redisFailure(error);
    }
  }
}
