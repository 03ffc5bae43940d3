import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { IssuedToken, Token } from '../contracts/token.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import type { WakeSignal } from '../async/wake-signal.ts';
import type { AcquireDecision, StoredToken, TokenWant } from './acquire-decision.ts';
import { holdStored, type HeldToken } from './held-token.ts';
import { holdOf, refusalOf, refusalSpan, refusedError } from './token-refusal.ts';
import type { TokenSeal } from './token-seal.ts';
import type { Grant, TokenRecord } from './token-record.ts';
import type { TokenEvent } from './token-event.ts';
import type { TokenSettings } from './token-settings.ts';
import { tokenOf } from './token-value.ts';

/** Longest sleep of a waiter that no hint wakes: it then asks again. */
const POLL_MS = 100;
const POLL_JITTER_MS = 50;

/** A waiter gives up after as many lives of the lock: then it is not one holder that died. */
const PATIENCE_IN_LOCKS = 4;

/** What the protocol stands on. */
export interface TokenProtocolContext {
  readonly record: TokenRecord;
  readonly seal: TokenSeal;
  readonly wakeSignal: WakeSignal;
  /** Asks the service for a token; should end when its signal aborts. */
  readonly issue: (signal: AbortSignal) => Promise<IssuedToken>;
  readonly settings: TokenSettings;
  readonly emit: (event: TokenEvent) => void;
}

/**
 * One want carried through the slot's protocol, as shared-token.ts tells it: asked, decided, and then
 * taken, waited for or issued. It keeps no state between wants.
 */
export class TokenProtocol {
  readonly #parts: TokenProtocolContext;

  constructor(parts: TokenProtocolContext) {
    this.#parts = parts;
  }

  /**
   * A token for a send.
   *
   * @param abandoned nobody waits any more: stop waiting, but finish an issuance that was begun
   * @throws TokenRefusedError when a refusal stands or this process's issuance met one
   * @throws NoticeQueueError TOKEN_UNAVAILABLE when Redis failed or the wait was too long
   */
  async obtain(first: TokenWant, abandoned: AbortSignal): Promise<HeldToken> {
    const { record, wakeSignal: bell, settings, emit } = this.#parts;
    const nonce = newNonce();
    const began = performance.now();
    let want = first;
    let waited = false;
    for (;;) {
      const heard = bell.count;
      const askedAt = performance.now();
      const decision = await record.acquire(nonce, want);
      switch (decision.kind) {
        case 'take':
        case 'young': {
          const held = this.#open(decision.stored, askedAt);
          if (held === undefined) {
            want = { why: 'unreadable', refused: decision.stored.id };
            break;
          }
          if (waited) emit({ kind: 'waited', ms: performance.now() - began });
          if (decision.kind === 'young') {
            emit({ kind: 'young', id: held.token.id, ageMs: decision.stored.ageMs });
          }
          return held;
        }
        case 'refused':
          throw this.#refused(decision);
        case 'lock': {
          const held = await this.#issue({ nonce, fence: decision.fence }, want, askedAt);
          if (held !== undefined) return held;
          break;
        }
        case 'wait':
        case 'later':
          waited = true;
          await bell.next(heard, pollDelay(decision), abandoned);
          break;
      }
      if (abandoned.aborted || performance.now() - began > PATIENCE_IN_LOCKS * settings.lockTtlMs) {
        throw new NoticeQueueError('TOKEN_UNAVAILABLE', 'No token came while waiting for it.');
      }
    }
  }

  /**
   * The successor of a token that nears its end; undefined where another process is at it, the time
   * has not come or the service failed: the one in use stays in use, and nothing is remembered.
   */
  async renewEarly(id: string): Promise<HeldToken | undefined> {
    const nonce = newNonce();
    const askedAt = performance.now();
    const want: TokenWant = { why: 'early', refused: id };
    const decision = await this.#parts.record.acquire(nonce, want);
    if (decision.kind === 'take') return this.#open(decision.stored, askedAt);
    if (decision.kind !== 'lock') return undefined;
    return await this.#issue({ nonce, fence: decision.fence }, want, askedAt);
  }

  #open(stored: StoredToken, asOf: number): HeldToken | undefined {
    const token = this.#parts.seal.unseal(stored.id, stored.sealed);
    if (token !== undefined) return holdStored(stored, token, asOf);
    this.#parts.emit({ kind: 'unreadable', id: stored.id });
    return undefined;
  }

  #refused({ refusal, fresh }: Extract<AcquireDecision, { kind: 'refused' }>): Error {
    if (fresh) this.#parts.emit({ kind: 'contested', retryInMs: refusal.restMs });
    return refusedError(refusal);
  }

  /** The holder's part. Undefined: overtaken, or an early renewal that failed. */
  async #issue(grant: Grant, want: TokenWant, askedAt: number): Promise<HeldToken | undefined> {
    const { settings, emit } = this.#parts;
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
    return { token, fence: grant.fence, proven: false, usableUntil, lifeMs: lifeMs ?? Infinity };
  }

  /** Asks the service under the deadline, which counts from before the lock was taken. */
  async #ask(deadline: number): Promise<IssuedToken> {
    const controller = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => {
          reject(new NoticeQueueError('TOKEN_UNAVAILABLE', 'The token endpoint took too long.'));
          controller.abort();
        },
        Math.max(0, deadline - performance.now()),
      );
    });
    try {
      return await Promise.race([this.#parts.issue(controller.signal), over]);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Stores for as long as the lock may be ours: a token that was issued and is lost costs the fleet
   * an issuance, and with a service that keeps one token per app it has killed the stored one.
   */
  async #store(
    grant: Grant,
    want: TokenWant,
    token: Token,
    usableUntil: number,
    askedAt: number,
  ): Promise<boolean> {
    const { record, settings } = this.#parts;
    const end = askedAt + settings.lockTtlMs;
    const replaced = want.why === 'use' ? want.refused : '';
    for (;;) {
      const now = performance.now();
      const lifeMs = usableUntil === Infinity ? undefined : usableUntil - now;
      try {
        return (await record.store(grant, token, lifeMs, replaced, end - now)) === 'stored';
      } catch (error) {
        if (performance.now() + POLL_MS >= end) throw error;
        await pause(POLL_MS);
      }
    }
  }

  async #fail(grant: Grant, want: TokenWant, error: unknown): Promise<undefined> {
    const { record, settings, emit } = this.#parts;
    const { kind, code } = refusalOf(error);
    if (want.why === 'early') {
      emit({ kind: 'early-renewal-failed', code });
      await record.release(grant.nonce);
      return undefined;
    }
    let restMs: number;
    try {
      restMs = await record.fail(grant, kind, code);
    } catch {
      // Redis is away as well: at least this process does not ask again at once.
      restMs = refusalSpan(kind, settings).minMs;
    }
    if (restMs < 0) return undefined;
    emit({ kind: 'refused', hold: holdOf(kind), code, retryInMs: restMs });
    throw refusedError({ kind, code, restMs });
  }
}

/** Begins with the process id, for a person who looks at the lock. */
function newNonce(): string {
  return `${process.pid}-${randomBytes(12).toString('hex')}`;
}

/** Never longer than the lock lasts, and spread, so that waiters do not ask in one moment. */
function pollDelay(decision: Extract<AcquireDecision, { kind: 'wait' | 'later' }>): number {
  const longest = decision.kind === 'wait' ? Math.min(decision.restMs, POLL_MS) : POLL_MS;
  return longest + Math.random() * POLL_JITTER_MS;
}

/** A life that is not a positive number of milliseconds is not believed. */
function knownLife({ expiresInMs }: IssuedToken): number | undefined {
  if (expiresInMs === undefined || !Number.isSafeInteger(Math.floor(expiresInMs))) return undefined;
  return expiresInMs > 0 ? expiresInMs : undefined;
}
