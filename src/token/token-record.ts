import { setTimeout as pause } from 'node:timers/promises';
import { withTimeout } from '../async/with-timeout.ts';
import type { TokenKeys } from '../redis/keys.ts';
import { missingPermissionOf, redisErrorCode } from '../redis/failure.ts';
import { ScriptFailure, type ScriptClient } from '../redis/script.ts';
import {
  APP_CODES,
  concernsToken,
  mayBeReplaced,
  mayConcernToken,
  type Refusal,
  type Token,
} from '../contracts/token.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import type { AcquireDecision, TokenWant } from './acquire-decision.ts';
import { refusalSpan, type RefusalKind } from './token-refusal.ts';
import type { TokenSeal } from './token-seal.ts';
import { addUncured, cured } from './cure-scripts.ts';
import { acquire, fail, prove, release, store } from './token-scripts.ts';
import type { TokenSettings } from './token-settings.ts';

/** Pause between two tries to release a lock that nothing follows. */
const RELEASE_AGAIN_MS = 200;

/** Time to the next renewal for a refusal that a new token did not end; doubled by each. */
const FIRST_DISTANCE_MS = 60_000;

/** The same for a code about the app: only a person changes it. */
const APP_DISTANCE_MS = 600_000;

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
    const { current, lock, fence, refused, issued, hints, uncured, evidence, deaths } = this.#keys;
    const { lockTtlMs, budget, budgetWindowMs, refusedMinMs, refusedMaxMs } = this.#settings;
    const grace = want.why === 'use' ? want.graceMs : 0;
    const refusal = want.why === 'use' ? want.refusal : undefined;
    const asked = acquire(
      this.#redis,
      [current, lock, fence, refused, issued, hints, uncured, evidence, deaths],
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
        refusal === undefined ? '' : nameOf(refusal),
        refusal !== undefined && mayBeReplaced(refusal) ? 1 : 0,
        concernsToken(refusal?.code) ? 1 : 0,
      ],
    );
    try {
      return await bounded(asked, this.#settings.issueDeadlineMs);
    } catch (error) {
      // The command may have run, or still run later: release a lock that it takes.
      void this.#releaseLate(asked, nonce);
      throw error;
    }
  }

  /** Repeated until Redis answers, or the lock has expired by itself. */
  async #releaseLate(asked: Promise<AcquireDecision>, nonce: string): Promise<void> {
    const late = await asked.catch(() => undefined);
    if (late !== undefined && late.kind !== 'lock') return;
    const end = performance.now() + this.#settings.lockTtlMs;
    while (performance.now() < end) {
      try {
        await this.release(nonce);
        return;
      } catch {
        await pause(RELEASE_AGAIN_MS);
      }
    }
  }

  /**
   * Remembers that a new token did not end a refusal.
   *
   * @param id of the new token
   * @param job that was refused with both
   */
  async addUncured(id: string, refusal: Refusal, job: string): Promise<void> {
    if (concernsToken(refusal.code)) return;
    const distance = isOfApp(refusal) ? APP_DISTANCE_MS : FIRST_DISTANCE_MS;
    const { current, uncured } = this.#keys;
    await bounded(
      addUncured(
        this.#redis,
        [current, uncured],
        [id, nameOf(refusal), job, distance, mayConcernToken(refusal) ? 0 : 1],
      ),
      this.#settings.issueDeadlineMs,
    );
  }

  /**
   * A new token ended a refusal: it is renewed for again.
   *
   * @param issued id of the new token, if this process issued it for that refusal; '' otherwise
   */
  async cured(refusal: Refusal, issued: string): Promise<void> {
    const { current, uncured, deaths } = this.#keys;
    const noted = cured(this.#redis, [current, uncured, deaths], [nameOf(refusal), issued]);
    await bounded(noted, this.#settings.issueDeadlineMs);
  }

  /**
   * Stores an issued token, releases the lock and wakes the waiters.
   *
   * @param lifeMs remaining life in milliseconds; undefined when the service does not report it
   * @param replaced id of the refused token that caused the issuance; '' for none
   * @param timeoutMs how long to wait for Redis
   * @param ofToken whether the refusal may well be of the token
   * @returns late when a holder with a higher fence stored before: do not use the token
   */
  async store(
    { nonce, fence }: Grant,
    token: Token,
    lifeMs: number | undefined,
    replaced: string,
    timeoutMs: number,
    ofToken = false,
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
          ofToken ? 1 : 0,
        ],
      ),
      timeoutMs,
    );
  }

  /**
   * Records a failed issuance for the fleet and releases the lock.
   *
   * @param reasons why another process may not have asked for a token: the stored one is not readable here, or it was
   *   refused with what is not of the token; undefined for none. A token that is not readable, and a code about the app or
   *   the caller, say nothing of the token
   * @returns how long the refusal is in effect, in ms; nothing is recorded when a newer holder exists (`overtaken`), or
   *   when this process had such reasons and the stored token may work for others (`works`)
   */
  async fail(
    { nonce, fence }: Grant,
    kind: RefusalKind,
    code: string,
    reasons?: 'unreadable' | Refusal,
  ): Promise<number | 'overtaken' | 'works'> {
    const { current, lock, refused, streak, hints, uncured, evidence } = this.#keys;
    const { minMs, maxMs } = refusalSpan(kind, this.#settings);
    const named = typeof reasons === 'object' ? nameOf(reasons) : (reasons ?? '');
    const own = typeof reasons === 'object' ? isOfApp(reasons) : reasons === 'unreadable';
    const restMs = await bounded(
      fail(
        this.#redis,
        [current, lock, refused, streak, hints, uncured, evidence],
        [nonce, fence, kind, code, minMs, maxMs, STREAK_MS, named, own ? 1 : 0],
      ),
      this.#settings.issueDeadlineMs,
    );
    if (restMs === -2) return 'works';
    return restMs < 0 ? 'overtaken' : restMs;
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
}

/** Names a refusal in the record. */
const nameOf = ({ status, code = '' }: Refusal) => `${status} ${code}`;

/** Whether a refusal is of the app or the caller (service-api, Errors). */
const isOfApp = ({ code = '' }: Refusal) => APP_CODES.has(code);

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
  const missing = missingPermissionOf(error);
  const reason = missing === undefined ? '' : `: the user lacks ${missing}`;
  return new NoticeQueueError(
    'TOKEN_UNAVAILABLE',
    `Redis failed while handling the shared token (${redisErrorCode(error)}${reason}).`,
  );
}
