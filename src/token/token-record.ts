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

/** Who issues, and under which fence. */
export interface Grant {
  readonly nonce: string;
  readonly fence: number;
}

/**
 * The slot's record in Redis: the scripts with their keys and settings. Each method is one round
 * trip, is bounded in time, and throws TOKEN_UNAVAILABLE when Redis does not answer.
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

  /** Decides about a want and takes the lock where that is the answer. */
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
      // The command may still be on its way; a lock it then takes has nobody who waits for it.
      void asked
        .then((late) => (late.kind === 'lock' ? this.release(nonce) : undefined))
        .catch(ignore);
      throw error;
    }
  }

  /**
   * Stores an issued token, frees the lock and wakes who waits.
   *
   * @param lifeMs life the token has left; undefined where the service does not tell
   * @param replaced the id of the token that was refused, where that brought the issuance on
   * @returns late when a higher fence stored before: the token is not for use
   */
  async store(
    { nonce, fence }: Grant,
    token: Token,
    lifeMs: number | undefined,
    replaced: string,
    patienceMs: number,
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
      patienceMs,
    );
  }

  /**
   * Remembers a failed issuance for the fleet and frees the lock.
   *
   * @returns how long it stands in ms; -1 when this holder was overtaken and nothing is remembered
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

  /** Frees the lock, if it is still this holder's. */
  async release(nonce: string): Promise<void> {
    const { lock, hints } = this.#keys;
    await bounded(release(this.#redis, [lock, hints], [nonce]), this.#settings.issueDeadlineMs);
  }

  /** Notes that a call with this token was accepted. */
  async prove(id: string): Promise<void> {
    await bounded(prove(this.#redis, [this.#keys.current], [id]), this.#settings.issueDeadlineMs);
  }

  /** What is stored now: the id, and whether a call with it was ever accepted. */
  async glance(): Promise<{ readonly id: string | null; readonly proven: boolean }> {
    const [id = null, proven] = await bounded(
      this.#redis.hmget(this.#keys.current, 'id', 'proven'),
      this.#settings.issueDeadlineMs,
    );
    return { id, proven: proven === '1' };
  }
}

/** The answer, or TOKEN_UNAVAILABLE after this long and for whatever the client threw. */
async function bounded<T>(asked: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new ScriptFailure('of the token slot', 'no answer in time')),
      Math.max(0, ms),
    );
  });
  try {
    return await Promise.race([asked, over]);
  } catch (error) {
    throw redisError(error);
  } finally {
    clearTimeout(timer);
  }
}

/** What is told of a Redis that failed the slot: the reason in one word, nothing of the command. */
export function redisError(error: unknown): NoticeQueueError {
  return new NoticeQueueError(
    'TOKEN_UNAVAILABLE',
    `Redis failed the token slot (${redisErrorCode(error)}).`,
  );
}

function ignore(): void {}
