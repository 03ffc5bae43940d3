import { SingleFlight, WakeSignal } from '../async/single-flight.ts';
import { NoticeQueueError, TokenRefusedError } from '../contracts/errors.ts';
import {
  type CancelSignal,
  mayConcernToken,
  type Refusal,
  type Token,
  type TokenSource,
} from '../contracts/token.ts';
import { hintChannel, type Hints } from '../redis/hints.ts';
import {
  ANY,
  TokenRecord,
  type HeldToken,
  type Obtained,
  type TokenRecordOptions,
  type TokenWant,
} from './token-record.ts';

export interface SharedTokenOptions extends TokenRecordOptions {
  /** Hints only save time: a lost one costs a short wait or one refused call, never a wrong answer. */
  readonly hints?: Pick<Hints, 'subscribe'>;
  /** Called with the milliseconds that a send waited for its token, however the wait ended. */
  readonly onWait?: (ms: number) => void;
}

/**
 * The shared token of one key pair, as one process of the fleet uses it.
 *
 * Rules 3 to 5 of the service's authentication (service-api, Authentication): reuse a token until it
 * expires, refresh it after a 401 or 403 and retry once, keep it cached. Some services keep only one token
 * per app alive, so that each issuance invalidates the token before it. This class follows the rules for a
 * fleet of any size and both kinds of service. Its promise:
 *
 * **issuances <= invalidations + 2 x faults, and exactly one per invalidation without faults.**
 * A fault is a lock holder that dies or outlives its lock, or a Redis that loses data. A refusal that may be of the notice
 * (its code does not state that the token is invalid) adds one issuance per code in ten minutes. Whatever the cause, no more
 * than the tokens of its budget are issued in a window.
 *
 * All state is in the token record (token-scripts.ts), and one script both decides and takes the lock: it checks under the
 * lock that the stored token is the refused one. A late refusal of an older token finds another id and only reads. Two
 * holders exist only where the first outlives its lock, or a failover lost it: both may then issue, the fence decides which
 * of them stores, and the other starts again. A token that was invalidated on the way costs one more: hence two per fault.
 *
 * Within a process: get() answers from a copy without asking Redis. The copy is dropped when its token is reported refused
 * (unless the refusal may be of the notice), when a hint names a newer one, or when its known life ends. Callers that want
 * the same token replaced share one acquisition. A refused issuance is remembered until it ends or a hint comes.
 *
 * Lifecycle: get() works before start(), only without hints; stop() may be called twice or first.
 */
export class SharedToken implements TokenSource {
  readonly #options: SharedTokenOptions;
  readonly #record: TokenRecord;
  readonly #wakeSignal = new WakeSignal();
  /** By what is wanted. */
  readonly #pending = new SingleFlight<Obtained>();
  #held: HeldToken | undefined;
  /** Monotonic time from which a use of the copy renews it; never while a renewal is in progress or was tried a moment ago. */
  #renewAt = Infinity;
  #renewing: Promise<void> | undefined;
  /** The last token reported refused here, so that get() does not return it again. */
  #refused = ANY;
  #refusal: { readonly error: TokenRefusedError; readonly until: number } | undefined;
  readonly #subscriptions: (() => void)[] = [];
  #stopped = false;

  constructor(options: SharedTokenOptions) {
    this.#options = options;
    this.#record = new TokenRecord(options);
  }

  /** Subscribes to hints. Redis may be unavailable: hints then arrive once it is back. */
  start(): void {
    const { redis, hints, keys } = this.#options;
    if (this.#stopped || hints === undefined || this.#subscriptions.length > 0) return;
    this.#subscriptions.push(
      hints.subscribe(hintChannel(redis, keys.hints), (text) => this.#onHint(text)),
      // A hold that a person lifted: the refusal may be over.
      hints.subscribe(hintChannel(redis, keys.holdHints), () => (this.#refusal = undefined)),
    );
  }

  /**
   * The current token; from memory in steady state.
   *
   * @throws TokenRefusedError while a refused issuance is in effect
   * @throws NoticeQueueError TOKEN_UNAVAILABLE when the caller cancels or Redis fails
   */
  async get(cancel?: CancelSignal): Promise<Token> {
    const held = this.#usable();
    if (held === undefined) return (await this.#acquire(this.#refused, cancel)).held.token;
    if (performance.now() >= this.#renewAt) {
      this.#renewing ??= this.#renewEarly(held).finally(() => (this.#renewing = undefined));
    }
    this.#options.onWait?.(0);
    return held.token;
  }

  /**
   * A token other than the refused one (service-api, Authentication rule 4), or the same one when it is so
   * young that the service may not know it everywhere. Throws as get() does.
   *
   * @returns undefined where there is no other: one was issued for such a refusal within ten minutes, the service gives
   *   out the same again, or none can be issued and the refusal may be of the notice
   */
  async renew(refused: Token, refusal: Refusal, cancel?: CancelSignal): Promise<Token | undefined> {
    const { onWait, settings } = this.#options;
    const held = this.#usable();
    if (held !== undefined && held.token.id !== refused.id) {
      onWait?.(0);
      return held.token;
    }
    const isOfToken = mayConcernToken(refusal);
    const want: TokenWant = {
      refused: refused.id,
      graceMs: settings.graceMs,
      refusal: isOfToken ? '' : nameOf(refusal),
      early: false,
    };
    // Otherwise it stays in use for the other notices meanwhile.
    if (isOfToken) {
      this.#held = undefined;
      this.#refused = want;
    }
    try {
      const obtained = await this.#acquire(want, cancel);
      return obtained.kept ? undefined : obtained.held.token;
    } catch (error) {
      if (!isOfToken && held !== undefined && error instanceof TokenRefusedError) return undefined;
      throw error;
    }
  }

  /**
   * Reports that a refused call was accepted with the next token: such a refusal is of the token.
   *
   * @throws NoticeQueueError TOKEN_UNAVAILABLE when Redis fails
   */
  async renewalHelped(refusal: Refusal): Promise<void> {
    if (!mayConcernToken(refusal)) await this.#record.forget(nameOf(refusal));
  }

  /**
   * Issues one token for the fleet without a refusal, as an early renewal does. A failure is not recorded.
   *
   * @param replaced id of the stored token; '' where none is stored
   * @returns undefined where none was issued: another process issues, a refusal is in effect, or a renewal was tried a moment ago
   * @throws TokenRefusedError the issuance failed
   * @throws NoticeQueueError TOKEN_UNAVAILABLE when Redis fails
   */
  async issueOnce(replaced: string): Promise<Token | undefined> {
    const next = await this.#obtainEarly(replaced);
    return next?.isOurs === true ? next.held.token : undefined;
  }

  #obtainEarly(replaced: string): Promise<Obtained | undefined> {
    const want = { ...ANY, refused: replaced, early: true };
    return this.#record.obtain(want, this.#wakeSignal, new AbortController().signal);
  }

  /** Unsubscribes and ends waits; an issuance in progress is still stored. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const unsubscribe of this.#subscriptions.splice(0)) unsubscribe();
    await Promise.all([this.#renewing, this.#pending.abandonAll()]);
  }

  #usable(): HeldToken | undefined {
    if (this.#held !== undefined && performance.now() >= this.#held.usableUntil) {
      this.#held = undefined;
    }
    return this.#held;
  }

  async #acquire(want: TokenWant, cancel: CancelSignal | undefined): Promise<Obtained> {
    const startedAt = performance.now();
    try {
      this.#throwIfPointless(cancel);
      const key = `${want.refused} ${want.graceMs} ${want.refusal}`;
      return await this.#pending.join(key, (gone) => this.#obtain(want, gone), cancel);
    } finally {
      this.#options.onWait?.(performance.now() - startedAt);
    }
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
    const { hold, refusalCode } = error;
    if (restMs > 0) throw new TokenRefusedError(hold, refusalCode, restMs);
    this.#refusal = undefined;
  }

  async #obtain(want: TokenWant, abandoned: AbortSignal): Promise<Obtained> {
    try {
      const got = await this.#record.obtain(want, this.#wakeSignal, abandoned);
      if (got === undefined) throw new NoticeQueueError('TOKEN_UNAVAILABLE');
      const held = this.#keep(got.held, want.refused);
      return { ...got, held, kept: got.kept && held.token.id === want.refused };
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
    if (id === this.#refused.refused && id !== replaced) return next;
    this.#held = next;
    this.#refused = ANY;
    this.#refusal = undefined;
    this.#renewAt = renewalOf(next, this.#options.settings.renewBeforeMs, Math.random());
    return next;
  }

  /** Where it fails, or another process issues, a later use tries again; the record allows the fleet no more. */
  async #renewEarly(held: HeldToken): Promise<void> {
    const now = performance.now();
    const pauseMs = Math.max(this.#options.settings.refusedMinMs, (held.usableUntil - now) / 2);
    this.#renewAt = now + pauseMs;
    try {
      const next = await this.#obtainEarly(held.token.id);
      if (next !== undefined) this.#keep(next.held, held.token.id);
    } catch {
      // The current token stays in use.
    }
  }

  /** Any hint, also a gap, wakes the waiters and ends what is remembered; `stored:<id>` also drops an older copy. */
  #onHint(text: string | undefined): void {
    if (text !== 'refused') this.#refusal = undefined;
    const isStored = text?.startsWith('stored:') === true;
    if (isStored && text !== `stored:${this.#held?.token.id}`) this.#held = undefined;
    this.#wakeSignal.notify();
  }
}

/** Names a refusal in the record. */
const nameOf = ({ status, code = '' }: Refusal) => `${status} ${code}`;

/**
 * When a token of known life is renewed: `renewBeforeMs` before its end, at most half its life, and up to a quarter of
 * that later, so that the processes of a fleet do not all ask at once.
 *
 * @param chance random in [0, 1)
 */
export function renewalOf(
  { usableUntil, lifeMs }: HeldToken,
  renewBeforeMs: number,
  chance: number,
): number {
  return usableUntil - Math.min(renewBeforeMs, lifeMs / 2) * (1 - chance / 4);
}
