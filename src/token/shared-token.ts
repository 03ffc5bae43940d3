import type { CancelSignal } from '../contracts/cancel-signal.ts';
import {
  mayConcernToken,
  type IssuedToken,
  type Refusal,
  type Token,
  type TokenSource,
} from '../contracts/token.ts';
import { NoticeQueueError, TokenRefusedError } from '../contracts/errors.ts';
import type { Hints } from '../redis/hints.ts';
import type { TokenKeys } from '../redis/keys.ts';
import type { ScriptClient } from '../redis/script.ts';
import { WakeSignal } from '../async/wake-signal.ts';
import type { HeldToken, TokenWant } from './acquire-decision.ts';
import { EarlyRenewal } from './early-renewal.ts';
import { SingleFlight } from '../async/single-flight.ts';
import type { TokenSeal } from './token-seal.ts';
import { TokenProtocol, type TokenEvent } from './token-protocol.ts';
import { TokenRecord } from './token-record.ts';
import { graceAfter, type TokenSettings } from './token-settings.ts';
import { readTokenStatus, type TokenStatus } from './token-status.ts';

/** Pause before a proof that Redis did not take is sent again. */
const PROOF_RETRY_MS = 1000;

type UseWant = Extract<TokenWant, { why: 'use' }>;

interface Acquired {
  readonly token: Token;
  /** It is the refused one: another would be refused the same. */
  readonly kept: boolean;
}

/** No token was reported refused: any token will do. */
const ANY: UseWant = { why: 'use', refused: '', graceMs: 0 };

/** Options of {@link SharedToken}. */
export interface SharedTokenOptions {
  /** Client for commands. It may be shared; it is not closed here. */
  readonly redis: ScriptClient;
  /** Hints only save time: a lost one costs a short wait or one refused call, never a wrong answer. */
  readonly hints: Pick<Hints, 'subscribe'>;
  readonly keys: TokenKeys;
  readonly seal: TokenSeal;
  /** Asks the service for a token (service-api, POST /api/v2/token); should end when its signal aborts. */
  readonly issue: (signal: AbortSignal) => Promise<IssuedToken>;
  readonly settings: TokenSettings;
  /** Names this process in status: the id of the worker. */
  readonly issuer: string;
  /** Whether a failed issuance is recorded for the fleet: not where it is only an operator's. Default: true */
  readonly recordsFailures?: boolean;
  /** Called with events for logs and metrics. What it throws is dropped. */
  readonly onEvent?: (event: TokenEvent) => void;
  /** Called with the milliseconds that a send waited for its token, however the wait ended. */
  readonly onWait?: (ms: number) => void;
}

/**
 * The shared token of one key pair, as one process of the fleet uses it.
 *
 * Rules 3 to 5 of the service's authentication (service-api, Authentication): reuse a token until it
 * expires, refresh it after a 401 or 403 and retry once, keep it cached. Some services keep only one token
 * per app alive, so that each issuance invalidates the token before it. This class follows the rules for a
 * fleet of any size and both kinds of service. Its guarantee:
 *
 * **issuances <= invalidations + 2 x faults, and exactly one per invalidation without faults.**
 * A fault is a lock holder that dies or outlives its lock, or a Redis that loses data. A refusal that is not
 * the token's fault adds one issuance when its code is first met, then at most one in ten seconds while
 * tokens work at other times, and else one per distance, which doubles from one to 16 minutes.
 *
 * The token record in Redis is in one of these states; each transition is one script (token-scripts.ts):
 *
 * - **empty**: no token, or one that expired, is corrupt or cannot be decrypted.
 * - **fresh**: a token is stored, and no call with it was accepted yet.
 * - **proven**: a call with it was accepted. `prove`: fresh → proven, once per token and process.
 * - **issuing**: a process has the lock and a fence, in addition to any of the above. `acquire`: from
 *   empty; or from fresh and proven for a caller whose refused token is the stored one and older than the
 *   grace time. Ends by `store` → fresh (or proven, where the service gives out a proven token again after a refusal that
 *   is not of the token), by `fail` → refused, or by the lock's ttl → the state before.
 * - **refused**: an issuance failed. The whole fleet fails without asking the service until the ttl
 *   ends → the state before; then one caller tries again. Each failure in a row doubles the ttl. While a token
 *   is stored, it is a failure of that process alone: one that cannot decrypt the token, or had met a refusal of the caller;
 *   or, while that token works and no acceptance is overdue, another refusal which is not of the token. After a refusal it
 *   goes on with the stored token (**kept**), as does a process with a token that works after the failure of another one.
 * - **kept**: a code of a refusal is remembered (`uncured`) because a new token was refused the same. Such
 *   refusals renew nothing, unless nothing was accepted for a while. Other codes are not affected.
 * - **contested**: refused, with a name of its own. A token that never worked was refused, and so was the
 *   one before it: another program issues tokens for this app, or clocks are wrong. After the ttl one
 *   more token is issued; if it works, the state ends, otherwise it is contested for twice as long. Early
 *   deaths and a spent budget of issuances lead here, too.
 *
 * An **early death**: a token that worked was answered 401 younger than ten minutes, or than half of its known
 * life ({@link mayBeReplaced}), although this fleet had not replaced it, and its successor ended the
 * refusal. After three of them in ten minutes another program issues tokens for this app, and each token of
 * either side invalidates the other's. The next token that dies so is contested, each one twice as long, until
 * there were fewer than three in ten minutes. A refusal whose code does not state that the token is
 * invalid may be of the notice: meanwhile such a token is kept until an acceptance has been overdue for two seconds.
 *
 * Why there is exactly one issuance per invalidation: it needs the lock, and one script both gives the
 * lock and checks that the stored token is the refused one. Storing changes the id, so a late refusal of
 * an older token finds another id and only reads.
 *
 * Limits of the lock: it only saves duplicate issuances. It does not separate two holders when the first
 * outlives its ttl (paused, partitioned) or a failover lost the lock. Both may then issue; the fence
 * decides which of them stores, and the other starts again with the stored token. A token that was
 * invalidated on the way costs one refusal and one more issuance: hence two per fault.
 *
 * Within a process: get() answers from a copy without asking Redis. The copy is dropped when its token is
 * reported refused (unless it worked, and the refusal is not of the token), when a hint names a newer one, or when its
 * known life ends. Callers that want the same token replaced share one acquisition. A refusal is remembered until it ends.
 *
 * Lifecycle: get() works before start(), only without hints; stop() may be called twice or first.
 */
export class SharedToken implements TokenSource {
  readonly #options: SharedTokenOptions;
  readonly #record: TokenRecord;
  readonly #protocol: TokenProtocol;
  readonly #wakeSignal = new WakeSignal();
  readonly #earlyRenewal: EarlyRenewal;
  /** Pending acquisitions by the token they replace and its grace time. */
  readonly #pending = new Map<string, SingleFlight<Acquired>>();
  #held: HeldToken | undefined;
  /** The last token reported refused here, so that get() does not return it again. */
  #refusedToken = ANY;
  #refusal: { readonly error: TokenRefusedError; readonly until: number } | undefined;
  /** Id of the token whose proof was sent, and when to retry if that failed. */
  #proof: { readonly id: string; readonly retryAt: number } | undefined;
  #unsubscribe: (() => void) | undefined;
  #stopped = false;

  constructor(options: SharedTokenOptions) {
    const { redis, keys, seal, issue, settings, issuer, recordsFailures } = options;
    this.#options = options;
    this.#record = new TokenRecord(redis, keys, seal, settings, issuer);
    this.#protocol = new TokenProtocol({
      record: this.#record,
      seal,
      wakeSignal: this.#wakeSignal,
      issue,
      settings,
      emit: (event) => this.#emit(event),
      recordsFailures,
    });
    this.#earlyRenewal = new EarlyRenewal(
      (held) => this.#renewEarly(held),
      settings.renewBeforeMs,
      settings.refusedMinMs,
    );
  }

  /** Subscribes to hints. Redis may be unavailable: hints then arrive once it is back. */
  start(): Promise<void> {
    const { hints, keys } = this.#options;
    if (!this.#stopped) {
      this.#unsubscribe ??= hints.subscribe(keys.hints, (text) => this.#onHint(text));
    }
    return Promise.resolve();
  }

  /**
   * The current token; from memory in steady state.
   *
   * @throws TokenRefusedError while a refusal is in effect
   * @throws NoticeQueueError TOKEN_UNAVAILABLE when the caller cancels or Redis fails
   */
  async get(cancel?: CancelSignal): Promise<Token> {
    const held = this.#usable();
    if (held === undefined) return (await this.#acquire(this.#refusedToken, cancel)).token;
    this.#options.onWait?.(0);
    return held.token;
  }

  /**
   * A token other than the refused one (service-api, Authentication rule 4), or the same one when it is so
   * young that the service may not know it everywhere. Throws as get() does.
   *
   * @returns undefined where another token is refused the same ({@link uncured}): none is issued; and where the refusal
   *   is not of the token, which works, while the issuance of another process is refused
   */
  async renew(refused: Token, refusal: Refusal, cancel?: CancelSignal): Promise<Token | undefined> {
    const held = this.#usable();
    if (held !== undefined && held.token.id !== refused.id) {
      this.#options.onWait?.(0);
      return held.token;
    }
    const graceMs = graceAfter(refusal.status, this.#options.settings);
    const want: UseWant = { why: 'use', refused: refused.id, graceMs, refusal };
    const isProven = held !== undefined && (held.proven || this.#proof?.id === refused.id);
    // One that works stays in use for the other notices meanwhile: the refusal is probably not of it.
    const works = isProven && !mayConcernToken(refusal);
    if (!works) this.#markRefused(want);
    try {
      const { token, kept } = await this.#acquire(want, cancel);
      return kept ? undefined : token;
    } catch (error) {
      if (works && error instanceof TokenRefusedError && error.scope === 'other') return undefined;
      throw error;
    }
  }

  /** Reports that the service accepted a call with this token. Asks Redis once per token at most. */
  accepted(token: Pick<Token, 'id'>): void {
    const held = this.#held;
    if (held === undefined || held.proven || held.token.id !== token.id) return;
    if (this.#proof?.id === token.id && performance.now() < this.#proof.retryAt) return;
    this.#proof = { id: token.id, retryAt: Infinity };
    this.#record.prove(token.id).catch(() => {
      this.#proof = { id: token.id, retryAt: performance.now() + PROOF_RETRY_MS };
    });
  }

  /**
   * Reports that a token was refused, and its successor the same: the fleet remembers for ten minutes, or for
   * twice the distance of renewals where that is longer, that such a refusal is not the token's fault. No
   * notice is rejected for that; it only saves issuances.
   *
   * @param id of the successor
   * @param job that was refused
   * @throws NoticeQueueError TOKEN_UNAVAILABLE when Redis fails
   */
  async uncured(id: string, refusal: Refusal, job: string): Promise<void> {
    await this.#record.addUncured(id, refusal, job);
  }

  /**
   * Reports that a token was refused so, and its successor accepted. Throws as {@link uncured} does.
   *
   * @param id of the successor
   * @param refusedAt monotonic time of the refusal. Before this process asked for the successor, the token
   *   was invalid already: this fleet did not replace it
   */
  async cured(refusal: Refusal, id: string, refusedAt: number): Promise<void> {
    const held = this.#held;
    const isCause = held?.token.id === id && refusedAt <= (held.askedAt ?? -Infinity);
    await this.#record.cured(refusal, isCause ? id : '');
  }

  /** The state of the record for status pages; never the token. */
  async status(): Promise<TokenStatus> {
    const { redis, keys, settings } = this.#options;
    return await readTokenStatus(redis, keys, settings.budgetWindowMs);
  }

  /** Unsubscribes and ends waits; an issuance in progress is still stored. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unsubscribe?.();
    this.#earlyRenewal.disarm();
    const pending = [...this.#pending.values()];
    for (const acquisition of pending) acquisition.abandon();
    await Promise.all([this.#earlyRenewal.ended(), ...pending.map((one) => one.ended())]);
  }

  #usable(): HeldToken | undefined {
    const held = this.#held;
    if (held === undefined) return undefined;
    if (held.usableUntil === Infinity || performance.now() < held.usableUntil) return held;
    this.#drop();
    return undefined;
  }

  #drop(): void {
    this.#held = undefined;
    this.#earlyRenewal.disarm();
  }

  #markRefused(want: UseWant): void {
    if (this.#held?.token.id === want.refused) this.#drop();
    this.#refusedToken = want;
  }

  async #acquire(want: UseWant, cancel: CancelSignal | undefined): Promise<Acquired> {
    const startedAt = performance.now();
    try {
      return await this.#join(want, cancel);
    } finally {
      this.#options.onWait?.(performance.now() - startedAt);
    }
  }

  /** Joins the pending acquisition of this want, or starts one. */
  async #join(want: UseWant, cancel: CancelSignal | undefined): Promise<Acquired> {
    this.#throwIfPointless(cancel);
    const { status = '', code = '' } = want.refusal ?? {};
    const key = `${want.refused}:${status}:${code}`;
    let acquisition = this.#pending.get(key);
    if (acquisition === undefined || acquisition.abandoned) {
      acquisition = new SingleFlight((abandoned) => this.#obtain(want, abandoned));
      this.#pending.set(key, acquisition);
      void this.#removeWhenEnded(key, acquisition);
    }
    return await acquisition.join(cancel);
  }

  #throwIfPointless(cancel: CancelSignal | undefined): void {
    if (this.#stopped) {
      throw new NoticeQueueError('TOKEN_UNAVAILABLE', 'This process is stopping.');
    }
    if (cancel?.aborted === true) {
      throw new NoticeQueueError('TOKEN_UNAVAILABLE', 'The caller had no time left for a token.');
    }
    if (this.#refusal === undefined) return;
    const { error, until } = this.#refusal;
    const restMs = until - performance.now();
    const { hold, refusalCode, scope } = error;
    if (restMs > 0) throw new TokenRefusedError(hold, refusalCode, restMs, scope);
    this.#refusal = undefined;
  }

  async #removeWhenEnded(key: string, acquisition: SingleFlight<Acquired>): Promise<void> {
    await acquisition.ended();
    if (this.#pending.get(key) === acquisition) this.#pending.delete(key);
  }

  async #obtain(want: UseWant, abandoned: AbortSignal): Promise<Acquired> {
    try {
      const { held, kept } = await this.#protocol.obtain(want, abandoned);
      const { token } = this.#keep(held, want.refused);
      return { token, kept: kept && token.id === want.refused };
    } catch (error) {
      if (error instanceof TokenRefusedError) {
        this.#refusal = { error, until: performance.now() + error.retryInMs };
      }
      throw error;
    }
  }

  /** Makes it the copy of this process, unless a newer one is held or it was reported refused meanwhile. */
  #keep(next: HeldToken, replaced: string): HeldToken {
    const held = this.#usable();
    // A replaced one with a greater fence is of a record that Redis has lost.
    if (held !== undefined && held.fence > next.fence && held.token.id !== replaced) return held;
    const { id } = next.token;
    if (id === this.#refusedToken.refused && id !== replaced) return next;
    this.#held = next;
    // One that is given out again may count as one that never worked.
    if (!next.proven) this.#proof = undefined;
    this.#refusedToken = ANY;
    this.#refusal = undefined;
    if (!this.#stopped) this.#earlyRenewal.arm(next);
    return next;
  }

  async #renewEarly(held: HeldToken): Promise<void> {
    try {
      const next = await this.#protocol.renewEarly(held.token.id);
      if (next !== undefined) this.#keep(next, held.token.id);
    } catch {
      // Redis is unavailable: the current token stays in use, and the renewal is tried again.
    }
  }

  /**
   * Any hint, also a gap, wakes the waiters; `stored:<id>` also replaces an older copy, and `unproven:<id>` says that the
   * token was given out again and has to be proven anew, by any process.
   */
  #onHint(text: string | undefined): void {
    if (text?.startsWith('stored:') === true) {
      this.#refusal = undefined;
      if (this.#held !== undefined && `stored:${this.#held.token.id}` !== text) this.#drop();
    }
    if (this.#held !== undefined && `unproven:${this.#held.token.id}` === text) {
      this.#held = { ...this.#held, proven: false };
      this.#proof = undefined;
    }
    this.#wakeSignal.notify();
  }

  #emit(event: TokenEvent): void {
    try {
      this.#options.onEvent?.(event);
    } catch {
      // A listener that throws must not lose the token that was just issued.
    }
  }
}
