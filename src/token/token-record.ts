import { withTimeout } from '../async/with-timeout.ts';
import type { TokenKeys } from '../redis/keys.ts';
import { redisErrorCode } from '../redis/failure.ts';
import { ScriptFailure, type ScriptClient } from '../redis/script.ts';
import type { Token } from '../contracts/token.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import type { AcquireDecision, TokenWant } from './acquire-decision.ts';
import { refusalSpan, type RefusalKind } from './token-refusal.ts';
import type { TokenSeal } from './token-seal.ts';
import { acquire, fail, prove, release, store } from './token-scripts.ts';
import type { TokenSettings } from './token-settings.ts';

/** Failed issuances count as in a row for this long. */
const STREAK_MS = 600_000;

/** The lock and the fence of an issuance. */
export interface Grant {
  readonly nonce: string;
  readonly fence: number;
}

/**
 * The token record in Redis: the scripts with their keys and settings. Each method is one round trip with
 * a timeout, and throws TOKEN_UNAVAILABLE when Redis does not answer.
 */
export class TokenRecord {
  readonly #redis: ScriptClient;
  readonly #keys: TokenKeys;
  readonly #seal: TokenSeal;
  readonly #settings: TokenSettings;
  readonly #issuer: string;

  constructor(
    redis: ScriptClient,
    keys: TokenKeys,
    seal: TokenSeal,
    settings: TokenSettings,
    issuer: string,
  ) {
    this.#redis = redis;
    this.#keys = keys;
    this.#seal = seal;
    this.#settings = settings;
    this.#issuer = issuer;
  }

  /** Decides about a want, and takes the lock when that is the decision. */
  async acquire(nonce: string, want: TokenWant): Promise<AcquireDecision> {
    const { current, lock, fence, refused, issued, hints } = this.#keys;
    const { lockTtlMs, budget, budgetWindowMs, refusedMinMs, refusedMaxMs } = this.#settings;
    const grace = want.why === 'use' ? want.graceMs : 0;
    const asked = acquire(
      this.#redis,
      [current, lock, fence, refused, issued, hints],
      [
        nonce,
        want.why,
        want.refused,
        grace,
        lockTtlMs,
        budget,
        budgetWindowMs,
        refusedMinMs,
        refusedMaxMs,
      ],
    );
    try {
      return await bounded(asked, this.#settings.issueDeadlineMs);
    } catch (error) {
      // The command may still run later; release a lock that it then takes.
      void asked
        .then((late) => (late.kind === 'lock' ? this.release(nonce) : undefined))
        .catch(ignore);
      throw error;
    }
  }

  /**
   * Stores an issued token, releases the lock and wakes the waiters.
   *
   * @param lifeMs remaining life in milliseconds; undefined when the service does not report it
   * @param replaced id of the refused token that caused the issuance; '' for none
   * @param timeoutMs how long to wait for Redis
   * @returns late when a holder with a higher fence stored before: do not use the token
   */
  async store(
    { nonce, fence }: Grant,
    token: Token,
    lifeMs: number | undefined,
    replaced: string,
    timeoutMs: number,
  ): Promise<'stored' | 'late'> {
    const { current, lock, refused, streak, issued, hints } = this.#keys;
    return await bounded(
      store(
        this.#redis,
        [current, lock, refused, streak, issued, hints],
        [
          nonce,
          fence,
          token.id,
          this.#seal.seal(token),
          lifeMs === undefined ? -1 : Math.max(0, Math.floor(lifeMs)),
          this.#issuer,
          replaced,
          this.#settings.budgetWindowMs,
        ],
      ),
      timeoutMs,
    );
  }

  /**
   * Records a failed issuance for the fleet and releases the lock.
   *
   * @returns how long the refusal is in effect, in ms; -1 when a newer holder exists and nothing is recorded
   */
  async fail({ nonce, fence }: Grant, kind: RefusalKind, code: string): Promise<number> {
    const { current, lock, refused, streak, hints } = this.#keys;
    const { minMs, maxMs } = refusalSpan(kind, this.#settings);
    return await bounded(
      fail(
        this.#redis,
        [current, lock, refused, streak, hints],
        [nonce, fence, kind, code, minMs, maxMs, STREAK_MS],
      ),
      this.#settings.issueDeadlineMs,
    );
  }

  /** Releases the lock if this holder still has it. */
  async release(nonce: string): Promise<void> {
    const { lock, hints } = this.#keys;
    await bounded(release(this.#redis, [lock, hints], [nonce]), this.#settings.issueDeadlineMs);
  }

  /** Records that a call with this token was accepted. */
  async prove(id: string): Promise<void> {
    await bounded(prove(this.#redis, [this.#keys.current], [id]), this.#settings.issueDeadlineMs);
  }

  /** Reads the id of the stored token, and whether a call with it was accepted. */
  async read(): Promise<{ readonly id: string | null; readonly proven: boolean }> {
    const [id = null, proven] = await bounded(
      this.#redis.hmget(this.#keys.current, 'id', 'proven'),
      this.#settings.issueDeadlineMs,
    );
    return { id, proven: proven === '1' };
  }
}

/** Resolves with the answer; throws TOKEN_UNAVAILABLE after `ms` and for any error of the client. */
async function bounded<T>(asked: Promise<T>, ms: number): Promise<T> {
  let answer: T | typeof TIMED_OUT;
  try {
    answer = await withTimeout(asked, Math.max(0, ms), TIMED_OUT);
  } catch (error) {
    throw redisError(error);
  }
  if (answer !== TIMED_OUT) return answer;
  throw redisError(new ScriptFailure('of the shared token', 'no answer in time'));
}

const TIMED_OUT = Symbol('timed out');

/** The error for a Redis that failed: with the error code, without the command. */
export function redisError(error: unknown): NoticeQueueError {
  return new NoticeQueueError(
    'TOKEN_UNAVAILABLE',
    `Redis failed while handling the shared token (${redisErrorCode(error)}).`,
  );
}

function ignore(): void {}
