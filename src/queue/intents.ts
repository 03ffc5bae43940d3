import type { DeliveryPolicy } from '../contracts/delivery.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import type { Script } from '../redis/script.ts';
import { beginIntent, endIntent, parkIntent, resolveIntent } from './intent-scripts.ts';

/**
 * What an attempt may do:
 *
 * - `send`: its intent is recorded.
 * - `lost`: the job is another worker's.
 * - `unknown`: an earlier attempt was begun and has no known end; it may have been taken.
 * - `accepted`: an earlier attempt was accepted, and its worker died before BullMQ heard of it.
 */
export type IntentVerdict = 'send' | 'lost' | 'unknown' | 'accepted';

/** What is kept of a notice whose outcome is unknown: no number, no variable. */
export interface UnknownFacts {
  readonly template: string;
  /** In contacts. */
  readonly contacts: number;
  readonly code: string;
  /**
   * What was last seen of the attempt: `begun` and nothing more, the request was `sent`, it was
   * `answered`, or `accepted` where the answer came after the notice had been set aside.
   */
  readonly stage: 'begun' | 'sent' | 'answered' | 'accepted';
  readonly delivery: DeliveryPolicy;
}

/** One attempt at a notice. */
export interface IntentAttempt {
  readonly job: string;
  /** Names the attempt. */
  readonly nonce: string;
}

/**
 * The intents of single notices that are sent at most once, and the list of those whose outcome is
 * unknown. A notice, as its job, is in one of these states:
 *
 * - idle: nothing recorded. idle -> begun: {@link begin}, right before the request.
 * - begun: a request may be under way. begun -> idle: {@link end} with `back`, it was not taken.
 *   begun -> accepted: {@link end}. begun -> unknown: {@link park}, by the attempt itself or by the
 *   next run, which finds that the one before never ended.
 * - accepted: nothing is sent any more; forgotten once BullMQ has heard it.
 * - unknown: listed, until a person decides ({@link resolve}) or its retention ends.
 *   unknown -> idle: resolved as resend.
 *
 * A notice at-least-once goes from idle to unknown when its last attempt ends so, and costs no
 * command else. All methods throw NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED.
 */
export class Intents {
  readonly #redis: RedisClient;
  readonly #keys: Keys;

  constructor(redis: RedisClient, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /**
   * @param lockToken the worker's token for the job's lock
   * @param worker names the worker, for whoever looks into Redis
   */
  async begin(attempt: IntentAttempt, lockToken: string, worker: string): Promise<IntentVerdict> {
    return (await this.#run(beginIntent, attempt, [lockToken, worker])) as IntentVerdict;
  }

  /** Safe to repeat. */
  async end(attempt: IntentAttempt, as: 'accepted' | 'back'): Promise<void> {
    await this.#run(endIntent, attempt, [as]);
  }

  /**
   * Safe to repeat.
   *
   * @param whose the intent it ends: this attempt's, that of any, or none for an at-least-once notice
   * @param keepMs how long the entry is kept (KEEP_FAILED_MS)
   */
  async park(
    attempt: IntentAttempt,
    whose: 'own' | 'any' | 'none',
    facts: UnknownFacts,
    keepMs: number,
  ): Promise<void> {
    await this.#run(parkIntent, attempt, [JSON.stringify(facts), keepMs, whose]);
  }

  /**
   * @param as `resend` before BullMQ is told to run the job again, `resent` after, `over` for both
   *   other decisions
   * @returns false where it is not listed
   */
  async resolve(job: string, as: 'resend' | 'resent' | 'over'): Promise<boolean> {
    return (await this.#run(resolveIntent, { job, nonce: '' }, [as])) === 1;
  }

  async #run(
    script: Script<unknown>,
    { job, nonce }: IntentAttempt,
    args: readonly (string | number)[],
  ): Promise<unknown> {
    const { begun, accepted, unknown, unknownAt } = this.#keys.intents;
    const jobs = this.#keys.noticeJob('');
    const keys = [begun, accepted, unknown, unknownAt, `${jobs}${job}`, this.#keys.noticeLock(job)];
    try {
      return await script(this.#redis, keys, [job, nonce, jobs, ...args]);
    } catch (error) {
      throw redisFailure(error);
    }
  }
}
