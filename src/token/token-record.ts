import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { WakeSignal } from '../async/single-flight.ts';
import { withTimeout } from '../async/repeat.ts';
import type { Config } from '../config/config.ts';
import { NoticeQueueError, TokenRefusedError, type ErrorCode } from '../contracts/errors.ts';
import type { IssuedToken, Token } from '../contracts/token.ts';
import type { RedisClient } from '../redis/connect.ts';
import { ScriptFailure } from '../redis/failure.ts';
import type { TokenKeys } from '../redis/keys.ts';
import { codeOf, holdOf, redisError, type TokenEvent } from './token-status.ts';
import {
  KEPT,
  OVERTAKEN,
  tokenStep,
  type AcquireDecision,
  type StoredToken,
} from './token-scripts.ts';
import { tokenOf, type TokenSeal } from './token-seal.ts';

/** Longest wait without a hint before a waiter asks again. */
const POLL_MS = 100;
const POLL_JITTER_MS = 50;

/** A waiter gives up after this many lock lifetimes: more than one dead holder explains. */
const MAX_LOCK_WAITS = 4;

/** What a caller asks the record for: a token other than `refused`. */
export interface TokenWant {
  /** Id of the refused token; '' where any token will do. */
  readonly refused: string;
  /** A token younger than this is tried once more. */
  readonly graceMs: number;
  /** Status and code of a refusal that may not be of the token; '' for any other want. */
  readonly refusal: string;
  /** Not for a send: the token is about to expire. */
  readonly early: boolean;
}

/** No token was reported refused: any token will do. */
export const ANY: TokenWant = { refused: '', graceMs: 0, refusal: '', early: false };

/** A process's own copy of the token: every send uses it in steady state. */
export interface HeldToken {
  readonly token: Token;
  readonly fence: number;
  /** Monotonic time (performance.now) at which its life ends; Infinity when unknown. */
  readonly usableUntil: number;
  /** Its whole life in milliseconds, for the early renewal; Infinity when unknown. */
  readonly lifeMs: number;
}

export interface Obtained {
  readonly held: HeldToken;
  /** It is the refused one, and there is no other. */
  readonly kept: boolean;
  readonly isOurs: boolean;
}

export interface TokenRecordOptions {
  /** Client for commands. It may be shared; it is not closed here. */
  readonly redis: RedisClient;
  readonly keys: TokenKeys;
  readonly seal: TokenSeal;
  /** Asks the service for a token (service-api, POST /api/v2/token); should end when its signal aborts. */
  readonly issue: (signal: AbortSignal) => Promise<IssuedToken>;
  readonly settings: Config['token'];
  /** Names this process in status: the id of the worker. */
  readonly issuer: string;
  readonly onEvent?: (event: TokenEvent) => void;
}

export interface Grant {
  readonly nonce: string;
  readonly fence: number;
}

/**
 * The token record in Redis: asks it for a token, and issues one where it gives the lock. It keeps no state between
 * requests. Every method throws TOKEN_UNAVAILABLE when Redis fails or does not answer in time.
 */
export class TokenRecord {
  readonly #options: TokenRecordOptions;

  constructor(options: TokenRecordOptions) {
    this.#options = options;
  }

  /**
   * A token for a send, or the successor of one that is about to expire (`early`): undefined where another process issues
   * that, or it is too soon.
   *
   * @param abandoned all callers have left: stop waiting, but finish an issuance in progress
   * @throws TokenRefusedError when a refused issuance is in effect, or that of this process was refused; the failure of an
   *   early one is not recorded for the fleet
   */
  async obtain(
    first: TokenWant,
    wakeSignal: WakeSignal,
    abandoned: AbortSignal,
  ): Promise<Obtained | undefined> {
    const nonce = `${process.pid}-${randomBytes(12).toString('hex')}`;
    const endsAt = performance.now() + MAX_LOCK_WAITS * this.#options.settings.lockTtlMs;
    let want = first;
    do {
      const seen = wakeSignal.count;
      const askedAt = performance.now();
      const decision = await this.acquire(nonce, want);
      switch (decision.kind) {
        case 'take':
        case 'young':
        case 'keep': {
          const held = this.#open(decision.stored, askedAt);
          if (held !== undefined) return { held, kept: decision.kind === 'keep', isOurs: false };
          // A corrupt record: any token but that.
          want = { ...ANY, refused: decision.stored.id, early: first.early };
          break;
        }
        case 'refused': {
          if (first.early) return undefined;
          const code = codeOf(decision.code);
          const { restMs } = decision;
          if (decision.fresh) this.#options.onEvent?.({ kind: 'contested', retryInMs: restMs });
          throw new TokenRefusedError(holdOf(code), code, restMs);
        }
        case 'lock': {
          const held = await this.#issue({ nonce, fence: decision.fence }, want, askedAt);
          if (held !== undefined) {
            return { held, kept: held.token.id === want.refused && !want.early, isOurs: true };
          }
          break;
        }
        case 'wait': {
          if (first.early) return undefined;
          const longest = Math.min(decision.restMs, POLL_MS);
          // With jitter, so that waiters do not all ask at once.
          await wakeSignal.next(seen, longest + Math.random() * POLL_JITTER_MS, abandoned);
        }
      }
    } while (!abandoned.aborted && performance.now() <= endsAt);
    throw new NoticeQueueError('TOKEN_UNAVAILABLE', 'No token came while waiting for it.');
  }

  /** A new token ended such a refusal: one is issued for it again. */
  async forget(refusal: string): Promise<void> {
    await this.#step('forget', { refusal });
  }

  /** Decides about a want, and takes the lock when that is the decision. */
  async acquire(nonce: string, want: TokenWant): Promise<AcquireDecision> {
    const given = { ...this.#options.settings, ...want, nonce };
    try {
      return (await this.#step('acquire', given)) as AcquireDecision;
    } catch (error) {
      // It may have run, or still run later: this follows it on the same connection.
      void this.release(nonce).catch(() => undefined);
      throw error;
    }
  }

  /**
   * Issues with the lock. Undefined when a newer token was stored, or none could be had and the stored one stays in use.
   *
   * @param askedAt monotonic time from before the lock was taken: the deadline counts from there
   */
  async #issue(grant: Grant, want: TokenWant, askedAt: number): Promise<HeldToken | undefined> {
    const { issue, settings } = this.#options;
    let token: Token;
    let lifeMs: number;
    try {
      const controller = new AbortController();
      const leftMs = Math.max(0, askedAt + settings.issueDeadlineMs - performance.now());
      const issued = await withTimeout(issue(controller.signal), leftMs, undefined);
      if (issued === undefined) {
        controller.abort();
        throw new NoticeQueueError('TOKEN_UNAVAILABLE', 'The token endpoint took too long.');
      }
      token = tokenOf(issued.value);
      const { expiresInMs = 0 } = issued;
      // A life that is not a positive number of milliseconds is none that is known.
      lifeMs = expiresInMs > 0 && expiresInMs < Number.MAX_SAFE_INTEGER ? expiresInMs : Infinity;
    } catch (error) {
      return await this.#failed(grant, want, error);
    }
    const usableUntil = performance.now() + lifeMs;
    const { fence } = grant;
    const lockedMs = askedAt + settings.lockTtlMs - performance.now();
    const stored = await this.store(grant, token, lifeMs, want.refusal, lockedMs);
    const ms = performance.now() - askedAt;
    this.#options.onEvent?.({ kind: 'issued', id: token.id, fence, ms, early: want.early, stored });
    return stored ? { token, fence, usableUntil, lifeMs } : undefined;
  }

  /**
   * Stores an issued token, releases the lock and wakes the waiters. Tried again while Redis fails: an issued token that is
   * lost costs the fleet an issuance, and with a service that keeps one token per app it has invalidated the stored one.
   *
   * @returns false when a holder with a higher fence stored before: do not use the token
   */
  async store(
    { nonce, fence }: Grant,
    token: Token,
    lifeMs: number,
    refusal: string,
    timeoutMs: number,
  ): Promise<boolean> {
    const { seal, issuer } = this.#options;
    const sealed = seal.seal(token);
    const startedAt = performance.now();
    for (;;) {
      const passed = performance.now() - startedAt;
      const life = lifeMs === Infinity ? undefined : Math.max(0, Math.round(lifeMs - passed));
      const of = { nonce, fence, id: token.id, sealed, lifeMs: life, issuer, refusal };
      try {
        return (await this.#step('store', of, timeoutMs - passed)) === true;
      } catch (error) {
        if (performance.now() - startedAt + POLL_MS >= timeoutMs) throw error;
        await pause(POLL_MS);
      }
    }
  }

  async #failed(grant: Grant, want: TokenWant, error: unknown): Promise<undefined> {
    const code = error instanceof NoticeQueueError ? error.code : 'TOKEN_UNAVAILABLE';
    const hold = holdOf(code);
    if (want.early) {
      this.#options.onEvent?.({ kind: 'early-renewal-failed', code });
      await this.release(grant.nonce);
      throw new TokenRefusedError(hold, code, 0);
    }
    const [shortest] = this.#refusalSpan(code);
    // Where Redis is unavailable, too, at least this process does not ask again at once.
    const ms = await this.fail(grant, code, want.refusal).catch(() => shortest);
    if (ms === OVERTAKEN) return undefined;
    const retryInMs = ms === KEPT ? shortest : ms;
    this.#options.onEvent?.({ kind: 'refused', hold, code, retryInMs });
    if (ms === KEPT) return undefined;
    throw new TokenRefusedError(hold, code, retryInMs);
  }

  /** Records a failed issuance for the fleet and releases the lock: how long it is in effect, {@link OVERTAKEN} or {@link KEPT}. */
  async fail({ nonce, fence }: Grant, code: ErrorCode, refusal: string): Promise<number> {
    const [shortestMs, longestMs] = this.#refusalSpan(code);
    return Number(await this.#step('fail', { nonce, fence, code, refusal, shortestMs, longestMs }));
  }

  /**
   * How long the first refusal is in effect, and the longest one. Credentials must be fixed by a person; an endpoint that
   * fails may be back soon, and asking it costs little.
   */
  #refusalSpan(code: ErrorCode): readonly [shortest: number, longest: number] {
    const { refusedMinMs, refusedMaxMs } = this.#options.settings;
    return holdOf(code) === 'token-unavailable'
      ? [Math.ceil(refusedMinMs / 4), Math.ceil(refusedMaxMs / 2)]
      : [refusedMinMs, refusedMaxMs];
  }

  /** Releases the lock if this holder still has it. */
  async release(nonce: string): Promise<void> {
    await this.#step('release', { nonce });
  }

  /** @param asOf monotonic time from before Redis was asked, so that the life is never overestimated */
  #open(
    { id, sealed, fence, ageMs, restMs = Infinity }: StoredToken,
    asOf: number,
  ): HeldToken | undefined {
    const token = this.#options.seal.unseal(id, sealed);
    if (token === undefined) return undefined;
    return { token, fence, usableUntil: asOf + restMs, lifeMs: Math.max(0, ageMs) + restMs };
  }

  async #step(
    name: Parameters<typeof tokenStep>[2],
    given: Parameters<typeof tokenStep>[3],
    ms = this.#options.settings.issueDeadlineMs,
  ): Promise<unknown> {
    const { redis, keys } = this.#options;
    try {
      const asked = tokenStep(redis, keys, name, given);
      const answer = await withTimeout(asked, Math.max(0, ms), TIMED_OUT);
      if (answer !== TIMED_OUT) return answer;
      throw new ScriptFailure('of the shared token', { code: 'no answer in time' });
    } catch (error) {
      throw redisError(error);
    }
  }
}

const TIMED_OUT = Symbol('timed out');
