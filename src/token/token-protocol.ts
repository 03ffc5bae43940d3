import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { mayConcernToken, type IssuedToken, type Refusal, type Token } from '../contracts/token.ts';
import { NoticeQueueError, type ErrorCode, type TokenRefusedError } from '../contracts/errors.ts';
import { withTimeout } from '../async/with-timeout.ts';
import type { WakeSignal } from '../async/wake-signal.ts';
import {
  holdStored,
  type AcquireDecision,
  type HeldToken,
  type StoredToken,
  type TokenWant,
} from './acquire-decision.ts';
import { holdOf, refusalOf, refusalSpan, refusedError } from './token-refusal.ts';
import { tokenOf, type TokenSeal } from './token-seal.ts';
import type { Grant, TokenRecord } from './token-record.ts';
import type { TokenSettings } from './token-settings.ts';

/** Longest wait without a hint before a waiter asks again. */
const POLL_MS = 100;
const POLL_JITTER_MS = 50;

/** A waiter gives up after this many lock lifetimes: more than one dead holder explains. */
const MAX_LOCK_WAITS = 4;

/** Options of {@link TokenProtocol}. */
export interface TokenProtocolContext {
  readonly record: TokenRecord;
  readonly seal: TokenSeal;
  readonly wakeSignal: WakeSignal;
  /** Asks the service for a token; should end when its signal aborts. */
  readonly issue: (signal: AbortSignal) => Promise<IssuedToken>;
  readonly settings: TokenSettings;
  readonly emit: (event: TokenEvent) => void;
  /** Whether a failed issuance is recorded for the fleet. Default: true */
  readonly recordsFailures?: boolean | undefined;
}

/** An event for logs and metrics. No event contains a token; times are milliseconds. */
export type TokenEvent =
  /** This process issued a token. `stored` is false when a newer one was stored meanwhile. */
  | {
      readonly kind: 'issued';
      readonly id: string;
      readonly fence: number;
      readonly ms: number;
      readonly early: boolean;
      readonly stored: boolean;
    }
  /** This process's issuance failed; it, or the whole fleet, issues again after `retryInMs`. */
  | {
      readonly kind: 'refused';
      readonly hold: TokenRefusedError['hold'];
      readonly code: ErrorCode;
      readonly retryInMs: number;
    }
  /** Tokens are invalidated unused or early, or the budget is spent: no issuance for `retryInMs`. */
  | { readonly kind: 'contested'; readonly retryInMs: number }
  /** Another process issued, and this one waited for it. */
  | { readonly kind: 'waited'; readonly ms: number }
  /** A refused token is within the grace time and is tried once more. */
  | { readonly kind: 'young'; readonly id: string; readonly ageMs: number }
  /** The stored token cannot be decrypted with this process's key and is replaced. */
  | { readonly kind: 'unreadable'; readonly id: string }
  /** An early renewal failed; the current token stays in use. */
  | { readonly kind: 'early-renewal-failed'; readonly code: ErrorCode };

/** A token for a send. `kept`: it is the refused one, and another would be refused the same, or there is no other. */
export interface Obtained {
  readonly held: HeldToken;
  readonly kept: boolean;
}

/**
 * Runs one request for a token through the protocol that shared-token.ts describes: ask, decide, and then
 * take, wait or issue. It keeps no state between requests.
 */
export class TokenProtocol {
  readonly #context: TokenProtocolContext;

  constructor(context: TokenProtocolContext) {
    this.#context = context;
  }

  /**
   * A token for a send.
   *
   * @param abandoned all callers have left: stop waiting, but finish an issuance in progress
   * @throws TokenRefusedError when a refusal is in effect or the issuance of this process was refused
   * @throws NoticeQueueError TOKEN_UNAVAILABLE when Redis failed or the wait was too long
   */
  async obtain(first: TokenWant, abandoned: AbortSignal): Promise<Obtained> {
    const { record, wakeSignal, settings, emit } = this.#context;
    const nonce = newNonce();
    const startedAt = performance.now();
    let want = first;
    let waited = false;
    for (;;) {
      const seen = wakeSignal.count;
      const askedAt = performance.now();
      const decision = await record.acquire(nonce, want);
      switch (decision.kind) {
        case 'take':
        case 'young':
        case 'keep': {
          const held = this.#open(decision.stored, askedAt);
          if (held === undefined) {
            want = { why: 'unreadable', refused: decision.stored.id };
            break;
          }
          if (waited) emit({ kind: 'waited', ms: performance.now() - startedAt });
          if (decision.kind === 'young') {
            emit({ kind: 'young', id: held.token.id, ageMs: decision.stored.ageMs });
          }
          return { held, kept: decision.kind === 'keep' };
        }
        case 'refused':
          throw this.#refused(decision);
        case 'lock': {
          const held = await this.#issue({ nonce, fence: decision.fence }, want, askedAt);
          if (held !== undefined) return { held, kept: await this.#isNoOther(held, want, nonce) };
          break;
        }
        case 'wait':
        case 'later':
          waited = true;
          await wakeSignal.next(seen, pollDelay(decision), abandoned);
          break;
      }
      if (
        abandoned.aborted ||
        performance.now() - startedAt > MAX_LOCK_WAITS * settings.lockTtlMs
      ) {
        throw new NoticeQueueError('TOKEN_UNAVAILABLE', 'No token came while waiting for it.');
      }
    }
  }

  /**
   * The successor of a token that is about to expire; undefined when another process issues, it is too
   * early or the service failed: the current token stays in use, and no refusal is stored.
   */
  async renewEarly(id: string): Promise<HeldToken | undefined> {
    const nonce = newNonce();
    const askedAt = performance.now();
    const want: TokenWant = { why: 'early', refused: id };
    const decision = await this.#context.record.acquire(nonce, want);
    if (decision.kind === 'take') return this.#open(decision.stored, askedAt);
    if (decision.kind !== 'lock') return undefined;
    return await this.#issue({ nonce, fence: decision.fence }, want, askedAt);
  }

  /**
   * Whether the service gave out the refused token again. It is remembered as a refusal that no new token ends, unless it
   * may well be of the token.
   */
  async #isNoOther({ token }: HeldToken, want: TokenWant, nonce: string): Promise<boolean> {
    if (want.why !== 'use' || token.id !== want.refused) return false;
    if (want.refusal !== undefined && !mayConcernToken(want.refusal)) {
      // Without it, the next such refusal asks for a token once more.
      await this.#context.record.addUncured(token.id, want.refusal, nonce).catch(() => {});
    }
    return true;
  }

  #open(stored: StoredToken, asOf: number): HeldToken | undefined {
    const token = this.#context.seal.unseal(stored.id, stored.sealed);
    if (token !== undefined) return holdStored(stored, token, asOf);
    this.#context.emit({ kind: 'unreadable', id: stored.id });
    return undefined;
  }

  #refused({ refusal, fresh }: Extract<AcquireDecision, { kind: 'refused' }>): Error {
    if (fresh) this.#context.emit({ kind: 'contested', retryInMs: refusal.restMs });
    return refusedError(refusal);
  }

  /** Issues with the lock. Undefined when a newer token was stored or an early renewal failed. */
  async #issue(grant: Grant, want: TokenWant, askedAt: number): Promise<HeldToken | undefined> {
    const { settings, emit } = this.#context;
    let token: Token;
    let lifeMs: number | undefined;
    try {
      const issued = await this.#ask(askedAt + settings.issueDeadlineMs);
      token = tokenOf(issued.value);
      lifeMs = knownLife(issued);
    } catch (error) {
      return await this.#fail(grant, want, error);
    }
    const usableUntil = performance.now() + (lifeMs ?? Infinity);
    const stored = await this.#store(grant, want, token, usableUntil, askedAt);
    emit({
      kind: 'issued',
      id: token.id,
      fence: grant.fence,
      ms: performance.now() - askedAt,
      early: want.why === 'early',
      stored,
    });
    if (!stored) return undefined;
    const life = { usableUntil, lifeMs: lifeMs ?? Infinity };
    return { token, fence: grant.fence, proven: false, ...life, askedAt };
  }

  /** Asks the service under the deadline, which counts from before the lock was taken. */
  async #ask(deadline: number): Promise<IssuedToken> {
    const controller = new AbortController();
    const leftMs = Math.max(0, deadline - performance.now());
    const issued = await withTimeout(this.#context.issue(controller.signal), leftMs, undefined);
    if (issued !== undefined) return issued;
    controller.abort();
    throw new NoticeQueueError('TOKEN_UNAVAILABLE', 'The token endpoint took too long.');
  }

  /**
   * Retries to store for as long as the lock may be held: an issued token that is lost costs the fleet an
   * issuance, and with a service that keeps one token per app it has invalidated the stored one.
   */
  async #store(
    grant: Grant,
    want: TokenWant,
    token: Token,
    usableUntil: number,
    askedAt: number,
  ): Promise<boolean> {
    const { record, settings } = this.#context;
    const end = askedAt + settings.lockTtlMs;
    const replaced = want.why === 'use' ? want.refused : '';
    const ofToken =
      want.why === 'use' && want.refusal !== undefined && mayConcernToken(want.refusal);
    for (;;) {
      const now = performance.now();
      const lifeMs = usableUntil === Infinity ? undefined : usableUntil - now;
      try {
        const stored = await record.store(grant, token, lifeMs, replaced, end - now, ofToken);
        return stored === 'stored';
      } catch (error) {
        if (performance.now() + POLL_MS >= end) throw error;
        await pause(POLL_MS);
      }
    }
  }

  async #fail(grant: Grant, want: TokenWant, error: unknown): Promise<undefined> {
    const { record, settings, emit, recordsFailures = true } = this.#context;
    const { kind, code } = refusalOf(error);
    if (want.why === 'early') {
      emit({ kind: 'early-renewal-failed', code });
      await record.release(grant.nonce);
      return undefined;
    }
    const reasons = want.why === 'unreadable' ? want.why : notOfToken(want.refusal);
    let restMs = refusalSpan(kind, settings).minMs;
    let failed: Awaited<ReturnType<TokenRecord['fail']>> = restMs;
    try {
      if (recordsFailures) failed = await record.fail(grant, kind, code, reasons);
      else await record.release(grant.nonce);
    } catch {
      // Redis is unavailable, too: at least this process does not ask again at once.
    }
    if (failed === 'overtaken') return undefined;
    if (typeof failed === 'number') restMs = failed;
    emit({ kind: 'refused', hold: holdOf(kind), code, retryInMs: restMs });
    // Others send with the stored token: the refusal is judged with that, as one that no new token ends.
    if (failed === 'works' && want.why === 'use') return undefined;
    throw refusedError({ kind, code, restMs }, failed === 'works' ? 'alone' : 'all');
  }
}

/** A refusal after which nothing says that the token is invalid. */
function notOfToken(refusal: Refusal | undefined): Refusal | undefined {
  return refusal === undefined || mayConcernToken(refusal) ? undefined : refusal;
}

/** Starts with the process id, for debugging. */
function newNonce(): string {
  return `${process.pid}-${randomBytes(12).toString('hex')}`;
}

/** At most the rest of the lock's life, with jitter, so that waiters do not all ask at once. */
function pollDelay(decision: Extract<AcquireDecision, { kind: 'wait' | 'later' }>): number {
  const longest = decision.kind === 'wait' ? Math.min(decision.restMs, POLL_MS) : POLL_MS;
  return longest + Math.random() * POLL_JITTER_MS;
}

/** Ignores a life that is not a positive number of milliseconds. */
function knownLife({ expiresInMs }: IssuedToken): number | undefined {
  if (expiresInMs === undefined || !Number.isSafeInteger(Math.floor(expiresInMs))) return undefined;
  return expiresInMs > 0 ? expiresInMs : undefined;
}
