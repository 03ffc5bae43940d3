import type { CancelSignal } from '../contracts/cancel-signal.ts';
import type { IssuedToken, RefusalStatus, Token, TokenSource } from '../contracts/token.ts';
import { NoticeQueueError, TokenRefusedError } from '../contracts/errors.ts';
import type { TokenKeys } from '../redis/keys.ts';
import type { ScriptClient } from '../redis/script.ts';
import { WakeSignal } from '../async/wake-signal.ts';
import type { TokenWant } from './acquire-decision.ts';
import { EarlyRenewal } from './early-renewal.ts';
import { SingleFlight } from '../async/single-flight.ts';
import type { HeldToken } from './held-token.ts';
import { readHint, type HintChannel } from './token-hints.ts';
import type { TokenSeal } from './token-seal.ts';
import { TokenProtocol } from './token-protocol.ts';
import { TokenRecord } from './token-record.ts';
import type { TokenEvent } from './token-event.ts';
import { graceAfter, type TokenSettings } from './token-settings.ts';
import { readTokenStatus, type TokenStatus } from './token-status.ts';

/** After a proof that Redis did not take, the next one waits this long. */
const PROOF_PAUSE_MS = 1000;

type UseWant = Extract<TokenWant, { why: 'use' }>;

/** Nothing was reported refused: any token will do. */
const ANY: UseWant = { why: 'use', refused: '', graceMs: 0 };

/** What a slot stands on. */
export interface SharedTokenOptions {
  /** Client for commands. It may be shared; the slot does not close it. */
  readonly redis: ScriptClient;
  readonly hints: HintChannel;
  readonly keys: TokenKeys;
  readonly seal: TokenSeal;
  /** Asks the service for a token (service-api, POST /api/v2/token); ends when its signal aborts. */
  readonly issue: (signal: AbortSignal) => Promise<IssuedToken>;
  readonly settings: TokenSettings;
  /** Names this process to people: `host:pid`. */
  readonly issuer: string;
  /** Hears what the slot does, for logs and metrics. What it throws is dropped. */
  readonly onEvent?: (event: TokenEvent) => void;
}

/**
 * The shared token of one key pair, as one process of the fleet sees it.
 *
 * Rules 3 to 5 of the service's authentication (service-api, Authentication) say: reuse a token
 * until it expires, refresh it on a 401 or 403 and retry once, keep it cached. Some services of
 * this kind keep one token per app alive, so that each issuance kills the token before it. The slot
 * keeps the rules for a fleet of any size and for both kinds of service. Its law:
 *
 * **issuances <= invalidations + 2 x faults, and exactly one per invalidation when nothing breaks.**
 * A fault is a holder that dies or outlives its lock, or a Redis that forgets.
 *
 * The slot in Redis is in one of these states, and each arrow is one script (token-scripts.ts):
 *
 * - **empty**: no token, or one that expired, is garbled or cannot be opened.
 * - **fresh**: a token is stored, and nobody has used it with success yet.
 * - **proven**: a call with it was accepted. `prove`: fresh → proven, once per token and process.
 * - **issuing**: somebody holds the lock and a fence, on top of any of the above. `acquire`: from
 *   empty; or from fresh and proven for a caller whose refused token is the stored one and no longer
 *   young. Ends by `store` → fresh, by `fail` → refused, or by the lock's ttl → as it was.
 * - **refused**: an issuance failed; all of the fleet fail with it, asking nothing of the service,
 *   until its ttl ends → as it was, and one caller probes. Each failure in a row doubles the ttl.
 * - **contested**: refused, under its own name: a token that never worked was refused, and so was
 *   the one before it: somebody else issues for this app, or clocks are wrong. After its ttl one
 *   more token is issued; one that works ends the matter, one that does not brings it back for twice
 *   as long. The budget of issuances, when spent, ends here too.
 *
 * Why exactly one issuance per invalidation: it needs the lock, and the lock is given in one step
 * with seeing that the stored token is the one that was refused. Storing changes the id, so a late
 * refusal of an older token finds another id and only reads.
 *
 * What the lock is not: it only saves duplicate issuances. It does not keep two holders apart where
 * the first outlives its ttl (stopped, partitioned) or a failover forgot it. Both may then issue; the
 * fence decides which of them stores, the other starts again with what is stored, and a token that
 * was killed on the way costs one refusal and one more issuance: hence two per fault.
 *
 * A process, on its side: it holds a copy and answers get() from it without asking Redis. The copy
 * goes when its token is reported refused, when a hint names a newer one, or when its known life
 * ends. Without a copy callers share one flight through the protocol per token they want replaced. A
 * refusal is remembered until it ends.
 *
 * Lifecycle: get() works before start() too, only slower to hear; stop() may come twice or first.
 */
export class SharedToken implements TokenSource {
  readonly #deps: SharedTokenOptions;
  readonly #record: TokenRecord;
  readonly #protocol: TokenProtocol;
  readonly #bell = new WakeSignal();
  readonly #early: EarlyRenewal;
  readonly #flights = new Map<string, SingleFlight<Token>>();
  #held: HeldToken | undefined;
  /** The last token reported refused here, so that get() does not bring it back. */
  #shunned = ANY;
  #refusal: { readonly error: TokenRefusedError; readonly until: number } | undefined;
  /** Id of the token whose proof was sent, and when another try is due should that have failed. */
  #proof: { readonly id: string; readonly againAt: number } | undefined;
  #deafen: (() => void) | undefined;
  #stopped = false;

  constructor(deps: SharedTokenOptions) {
    const { redis, keys, seal, issue, settings, issuer } = deps;
    this.#deps = deps;
    this.#record = new TokenRecord(redis, keys, seal, settings, issuer);
    this.#protocol = new TokenProtocol({
      record: this.#record,
      seal,
      wakeSignal: this.#bell,
      issue,
      settings,
      emit: (event) => this.#emit(event),
    });
    this.#early = new EarlyRenewal(
      (held) => this.#renewEarly(held),
      settings.renewBeforeMs,
      settings.refusedMinMs,
    );
  }

  /** Begins to listen for hints. Redis may be away: they then flow when it is back. */
  start(): Promise<void> {
    const { hints, keys } = this.#deps;
    if (!this.#stopped) this.#deafen ??= hints.subscribe(keys.hints, (text) => this.#hear(text));
    return Promise.resolve();
  }

  /**
   * The current token; from memory in steady state.
   *
   * @throws TokenRefusedError while a refusal stands
   * @throws NoticeQueueError TOKEN_UNAVAILABLE when the caller gives up first or Redis fails
   */
  async get(cancel?: CancelSignal): Promise<Token> {
    return this.#usable()?.token ?? (await this.#fly(this.#shunned, cancel));
  }

  /**
   * Another token than the one just refused (service-api, Authentication rule 4), or the same where
   * it is so young that the service may not know it everywhere. Throws as get() does.
   */
  async renew(refused: Token, status: RefusalStatus, cancel?: CancelSignal): Promise<Token> {
    const held = this.#usable();
    if (held !== undefined && held.token.id !== refused.id) return held.token;
    this.#shun(refused.id, status);
    return await this.#fly(this.#shunned, cancel);
  }

  /** Reports that the service accepted a call with this token. Asks Redis once per token at most. */
  accepted(token: Pick<Token, 'id'>): void {
    const held = this.#held;
    if (held === undefined || held.proven || held.token.id !== token.id) return;
    if (this.#proof?.id === token.id && performance.now() < this.#proof.againAt) return;
    this.#proof = { id: token.id, againAt: Infinity };
    this.#record.prove(token.id).catch(() => {
      this.#proof = { id: token.id, againAt: performance.now() + PROOF_PAUSE_MS };
    });
  }

  /**
   * Judges an attempt whose token was refused, renewed, and refused again with this second one.
   *
   * - `again`: the second token died since: it was replaced, or it worked for somebody before. The
   *   job is not to blame.
   * - `refused`: it is current, and either never worked or was refused with 403, which is said of
   *   the caller's permission, not of the token (service-api, Errors).
   *
   * @param status what the second token was answered. Default 401: it is then not used again here
   * @throws NoticeQueueError TOKEN_UNAVAILABLE when Redis fails
   */
  async judge(
    refused: Pick<Token, 'id'>,
    status: RefusalStatus = 401,
  ): Promise<'again' | 'refused'> {
    const held = this.#held;
    if (held !== undefined && held.token.id !== refused.id) return 'again';
    const worked = held?.proven === true || this.#proof?.id === refused.id;
    if (status === 401) this.#shun(refused.id, status);
    if (status === 401 && worked) return 'again';
    const stored = await this.#record.glance();
    if (stored.id !== refused.id) return 'again';
    return status === 401 && stored.proven ? 'again' : 'refused';
  }

  /** The slot as people see it; never the token. */
  async status(): Promise<TokenStatus> {
    const { redis, keys, settings } = this.#deps;
    return await readTokenStatus(redis, keys, settings.budgetWindowMs);
  }

  /** Ends listening and waiting; lets an issuance that was begun be stored. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#deafen?.();
    this.#early.disarm();
    for (const flight of this.#flights.values()) flight.abandon();
    await Promise.all([
      this.#early.ended(),
      ...[...this.#flights.values()].map((flight) => flight.ended()),
    ]);
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
    this.#early.disarm();
  }

  #shun(id: string, status: RefusalStatus): void {
    if (this.#held?.token.id === id) this.#drop();
    this.#shunned = {
      why: 'use',
      refused: id,
      graceMs: graceAfter(status, this.#deps.settings),
    };
  }

  async #fly(want: UseWant, signal: CancelSignal | undefined): Promise<Token> {
    this.#throwIfPointless(signal);
    const route = `${want.refused}:${want.graceMs}`;
    let flight = this.#flights.get(route);
    if (flight === undefined || flight.abandoned) {
      flight = new SingleFlight((abandoned) => this.#obtain(want, abandoned));
      this.#flights.set(route, flight);
      void this.#forgetWhenEnded(route, flight);
    }
    return await flight.join(signal);
  }

  #throwIfPointless(signal: CancelSignal | undefined): void {
    if (this.#stopped) {
      throw new NoticeQueueError('TOKEN_UNAVAILABLE', 'The token slot of this process is stopped.');
    }
    if (signal?.aborted === true) {
      throw new NoticeQueueError('TOKEN_UNAVAILABLE', 'The caller had no time left for a token.');
    }
    if (this.#refusal === undefined) return;
    const { error, until } = this.#refusal;
    const restMs = until - performance.now();
    if (restMs > 0) throw new TokenRefusedError(error.hold, error.refusalCode, restMs);
    this.#refusal = undefined;
  }

  async #forgetWhenEnded(route: string, flight: SingleFlight<Token>): Promise<void> {
    await flight.ended();
    if (this.#flights.get(route) === flight) this.#flights.delete(route);
  }

  async #obtain(want: UseWant, abandoned: AbortSignal): Promise<Token> {
    try {
      return this.#keep(await this.#protocol.obtain(want, abandoned), want.refused).token;
    } catch (error) {
      if (error instanceof TokenRefusedError) {
        this.#refusal = { error, until: performance.now() + error.retryInMs };
      }
      throw error;
    }
  }

  /** Makes it the copy of this process, unless more is known of it or of a newer one meanwhile. */
  #keep(next: HeldToken, replaced: string): HeldToken {
    const held = this.#usable();
    if (held !== undefined && held.fence > next.fence) return held;
    const { id } = next.token;
    if (id === this.#shunned.refused && id !== replaced) return next;
    this.#held = next;
    this.#shunned = ANY;
    this.#refusal = undefined;
    if (!this.#stopped) this.#early.arm(next);
    return next;
  }

  async #renewEarly(held: HeldToken): Promise<void> {
    try {
      const next = await this.#protocol.renewEarly(held.token.id);
      if (next !== undefined) this.#keep(next, held.token.id);
    } catch {
      // Redis is away: the token in use stays in use, and the renewal is tried again.
    }
  }

  #hear(text: string | undefined): void {
    const hint = readHint(text);
    if (hint.kind === 'stored') {
      this.#refusal = undefined;
      if (this.#held !== undefined && this.#held.token.id !== hint.id) this.#drop();
    }
    this.#bell.notify();
  }

  #emit(event: TokenEvent): void {
    try {
      this.#deps.onEvent?.(event);
    } catch {
      // A listener that throws must not cost the fleet the token that was just issued.
    }
  }
}
