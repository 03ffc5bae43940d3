import type { DeliveryPolicy } from '../../contracts/delivery.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { redisFailure } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';
import type { Script } from '../../redis/script.ts';
import { beginIntents, endIntents, parkIntents, resolveIntents } from './intent-scripts.ts';

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
 * unknown. Every move takes all the notices of one request in one round trip. A notice, as its job, is
 * in one of these states:
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
 * command else. All methods throw NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED; what was asked
 * then stands or does not, for all.
 */
export class Intents {
  readonly #redis: RedisClient;
  readonly #keys: Keys;

  constructor(redis: RedisClient, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /**
   * @param attempts each with the worker's token for the lock of its job
   * @param worker names the worker, for whoever looks into Redis
   * @returns the verdicts, in the order of the attempts
   */
  async begin(
    attempts: readonly (IntentAttempt & { readonly lockToken: string })[],
    worker: string,
  ): Promise<IntentVerdict[]> {
    const notices = attempts.map(({ job, nonce, lockToken }) => [job, nonce, lockToken]);
    return (await this.#run(beginIntents, worker, '', notices)) as IntentVerdict[];
  }

  /** Safe to repeat. */
  async end(attempts: readonly IntentAttempt[], as: 'accepted' | 'back'): Promise<void> {
    const notices = attempts.map(({ job, nonce }) => [job, nonce, '']);
    await this.#run(endIntents, as, '', notices);
  }

  /**
   * Safe to repeat.
   *
   * @param attempts each with what is to be kept of its notice
   * @param whose the intents it ends: these attempts', those of any, or none for at-least-once notices
   * @param keepMs how long the entries are kept (KEEP_FAILED_MS)
   */
  async park(
    attempts: readonly (IntentAttempt & { readonly facts: UnknownFacts })[],
    whose: 'own' | 'any' | 'none',
    keepMs: number,
  ): Promise<void> {
    const notices = attempts.map(({ job, nonce, facts }) => [job, nonce, JSON.stringify(facts)]);
    await this.#run(parkIntents, keepMs, whose, notices);
  }

  /**
   * @param as `resend` before BullMQ is told to run the job again, `resent` after, `over` for both
   *   other decisions
   * @returns false where it is not listed
   */
  async resolve(job: string, as: 'resend' | 'resent' | 'over'): Promise<boolean> {
    return (await this.#run(resolveIntents, as, '', [[job, '', '']]))[0] === 1;
  }

  async #run<Answer>(
    script: Script<readonly Answer[]>,
    second: string | number,
    third: string,
    notices: readonly (readonly string[])[],
  ): Promise<readonly Answer[]> {
    const { begun, accepted, unknown, unknownAt } = this.#keys.intents;
    const args = [this.#keys.noticeJob(''), second, third, ...notices.flat()];
    try {
      return await script(this.#redis, [begun, accepted, unknown, unknownAt], args);
    } catch (error) {
      throw redisFailure(error);
    }
  }
}
