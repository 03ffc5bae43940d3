import { pause } from '../../async/cancellation.ts';
import type { WorkerConfig } from '../../config/config.ts';
import { heldTemplate, type HoldKind } from '../../contracts/hold.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { hintChannel, type Hints } from '../../redis/hints.ts';
import type { Keys } from '../../redis/keys.ts';
import {
  endProbe,
  enterHold,
  holdKeys,
  nameIn,
  placeHold,
  probeLimits,
  templateScope,
  tryOtherKeys,
  type HoldScope,
  type Probe,
  type ProbeLimits,
} from './hold-scripts.ts';
import { readHolds, type NamedHold } from './holds.ts';
import { OTHERS_FIRST_MS, OwnTrouble, type Aside } from './own-trouble.ts';

export interface Passage {
  readonly probes?: Probe;
  readonly probesTemplate?: Probe;
}

export const OPEN: Passage = {};

export const isProbe = ({ probes, probesTemplate }: Passage): boolean =>
  probes !== undefined || probesTemplate !== undefined;

/** The template is held, or its sending hours are closed: the job comes again after so many milliseconds. */
export interface PutOff {
  readonly putOffMs: number;
}

export type HoldMove =
  { readonly kind: 'held'; readonly hold: HoldKind } | { readonly kind: 'lifted' };

export interface HoldGateOptions {
  readonly redis: RedisClient;
  readonly hints: Hints;
  readonly keys: Keys;
  readonly id: string;
  readonly settings: Pick<WorkerConfig, 'holdProbeMinMs' | 'holdProbeMaxMs' | 'retryAfterMaxMs'>;
  readonly now: () => number;
  readonly othersAccepted: () => Promise<boolean>;
  /** Called with each hold that this process learns of, for the log. */
  readonly onMove: (move: HoldMove) => void;
  /** Called when this process steps aside for a time, and when it does so no longer. */
  readonly onAside: (aside: Aside | undefined) => void;
  readonly onTemplateHeld: (held: NamedHold) => void;
}

/** Jobs of a held template come again within so many times {@link OTHERS_FIRST_MS} after a round: 15 s. */
const MOST_SPREAD = 30;

/**
 * The gate that every attempt passes. The account is in one of two states, stored in Redis:
 *
 * - open: no hold. Attempts pass, without a round trip once the process knows. open -> held: {@link HoldGate.place}.
 * - held: BullMQ's limiter keys are set until the next probe, so that no worker fetches jobs; jobs that were fetched
 *   before are requeued without spending an attempt. When the probe is due, the first attempt at the gate makes
 *   it, and moves the next one further away. held -> open: {@link HoldGate.answered}, by the table.
 *
 * | hold | lifted by |
 * |---|---|
 * | credentials, credit | an acceptance |
 * | failing | two acceptances, the second probe at once after the first |
 * | address, throttled, token-contested, token-unavailable, unreachable | an acceptance or rejection |
 * | manual, restored | a person |
 *
 * A template is held in the same way, apart from the others: its jobs are put off one by one. An acceptance lifts it.
 *
 * A process that is in trouble alone places no hold, and steps aside ({@link OwnTrouble}).
 *
 * A process learns of holds from hints and from its own attempts; a hint only makes it ask. Before a hint
 * arrives it may send a few more requests, each of which fails by itself.
 */
export class HoldGate {
  readonly #options: HoldGateOptions;
  readonly #holdKeys: readonly string[];
  readonly #channel: string;
  readonly #limits: ProbeLimits;
  readonly #own: OwnTrouble;
  /** Whether attempts ask Redis; false while this process knows that there is no hold. */
  #mustAsk = true;
  /** Raised whenever the process learns something: an answer that was asked for before is then outdated. */
  #news = 0;
  /** The held templates by name, with the time of their next round of probes as far as it is known. */
  #templates = new Map<string, number>();
  #mustRead = true;
  #known: HoldKind | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(options: HoldGateOptions) {
    this.#options = options;
    this.#holdKeys = holdKeys(options.keys);
    this.#channel = hintChannel(options.redis, options.keys.holdHints);
    const { holdProbeMinMs: minMs, holdProbeMaxMs: maxMs } = options.settings;
    this.#limits = { minMs, maxMs };
    this.#own = new OwnTrouble(this.#limits, options.onAside);
  }

  /** Subscribes to hints. Until the first answer of Redis every attempt asks Redis. */
  start(): void {
    this.#unsubscribe ??= this.#options.hints.subscribe(this.#channel, () => {
      this.forget();
      this.#own.leaveProbe(0);
      void this.#learn().catch(() => {});
    });
  }

  /**
   * To be called right before a process takes its first jobs. Where its key pair was not refused, a hold for refused keys
   * is of another pair, and probed at once; a process whose pair was refused leaves that probe to others.
   */
  async startProbing(keysRefused: boolean): Promise<void> {
    if (keysRefused) this.#own.inTrouble(0);
    else await tryOtherKeys(this.#options.redis, this.#holdKeys, [this.#channel]);
  }

  stop(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#own.stop();
  }

  /** Makes the next attempt ask Redis, even before a hint arrives. */
  forget(): void {
    this.#news++;
    this.#mustAsk = true;
    this.#mustRead = true;
  }

  /** Whether this process takes no jobs because it alone is in trouble. */
  get isAside(): boolean {
    return this.#own.isAside;
  }

  /**
   * Asks to make an attempt: without a promise while this process knows that there is no hold.
   * @param wasRefused whether the job met trouble before
   * @param runs of the job so far: the more, the further apart those of a held template come again
   * @param leavesProbes leaves the probe of a hold to jobs that wait beside it
   * @returns a passage; how long the job is put off because its template is held; or undefined when the account is held:
   *   requeue the job
   */
  enter(
    template: string,
    wasRefused: boolean,
    runs = 1,
    leavesProbes = false,
  ): Passage | PutOff | Promise<Passage | PutOff | undefined> {
    const isOpen = !this.#mustAsk && !this.#mustRead && !this.isTemplateHeld(template);
    return isOpen ? OPEN : this.#ask(template, wasRefused, runs, leavesProbes);
  }

  async #ask(
    template: string,
    wasRefused: boolean,
    runs: number,
    leavesProbes: boolean,
  ): Promise<Passage | PutOff | undefined> {
    if (this.#mustRead) await this.#read();
    const ofTemplate = await this.#enterTemplate(template, wasRefused, runs);
    if (ofTemplate !== undefined && 'putOffMs' in ofTemplate) return ofTemplate;
    if (leavesProbes && this.#known !== undefined) await pause(OTHERS_FIRST_MS);
    const probes = await this.#enterQueue();
    if (probes === 'held') return undefined;
    return probes === undefined ? (ofTemplate ?? OPEN) : { ...ofTemplate, probes };
  }

  async #enterTemplate(
    template: string,
    wasRefused: boolean,
    runs: number,
  ): Promise<Passage | PutOff | undefined> {
    const { redis, now } = this.#options;
    const held = this.#heldAs(template);
    if (held === undefined) return undefined;
    let { nextAt } = held;
    if (nextAt <= now()) {
      const entered = await enterHold(redis, this.#holdKeys, [templateScope(held.name)]);
      if ('lifter' in entered) this.#templates.delete(held.name);
      if (!('nextAt' in entered)) {
        return 'lifter' in entered ? undefined : { probesTemplate: entered };
      }
      this.#templates.set(held.name, entered.nextAt);
      ({ nextAt } = entered);
    }
    // Where nothing was tried yet goes first.
    const behindMs = wasRefused ? OTHERS_FIRST_MS : 0;
    const restMs = Math.max(0, nextAt - now());
    // Thousands that come again with each round would keep workers from other notices.
    const spreadMs = Math.random() * OTHERS_FIRST_MS * Math.min(runs, MOST_SPREAD);
    return { putOffMs: Math.ceil(restMs + behindMs + spreadMs) };
  }

  /** @returns the hold that is probed, undefined without one, or `held` */
  async #enterQueue(): Promise<Probe | 'held' | undefined> {
    if (!this.#mustAsk) return undefined;
    const { redis, id } = this.#options;
    await this.#own.othersFirst();
    const news = this.#news;
    const entered = await enterHold(redis, this.#holdKeys, ['queue']);
    if (!('lifter' in entered)) {
      this.#note(entered.kind);
      return 'nextAt' in entered ? 'held' : entered;
    }
    if (entered.lifter !== '' && entered.lifter !== id) this.#own.othersLifted();
    this.#note(undefined);
    if (news === this.#news) this.#mustAsk = false;
    return undefined;
  }

  /**
   * Places the hold of the account, or replaces one of another kind; or steps aside.
   * @param forMs milliseconds to the next probe, where the cause names them
   */
  async place(kind: HoldKind, code: string, forMs = 0): Promise<void> {
    const { othersAccepted } = this.#options;
    const isAlone = await this.#own.isAlone(othersAccepted);
    if (isAlone && !this.isAside) this.#own.stepAside({ hold: kind, code }, forMs);
    if (this.isAside) return;
    const nextAt = await this.#place('queue', kind, code, this.boundedMs(forMs));
    this.#own.inTrouble(nextAt - this.#options.now());
    this.forget();
    this.#note(kind);
  }

  /** A probe, or any attempt while it is held, met trouble that may concern everybody. @returns whether its hold remains as it is */
  failed({ probes }: Passage, kind: HoldKind, forMs = 0): boolean {
    if (probes !== undefined || this.#known !== undefined) this.#own.inTrouble(0);
    return probes?.kind === kind && forMs === 0;
  }

  /** The service answered, or an attempt ended without a request: ends a probe by the table above. */
  async answered(
    { probes, probesTemplate }: Passage,
    how: 'accepted' | 'rejected' | 'abandoned' | 'inconclusive',
  ): Promise<void> {
    if (how === 'accepted') this.#own.accepted();
    if (how === 'accepted' && probesTemplate !== undefined) await this.#end(probesTemplate, how);
    if (how !== 'inconclusive' && probes !== undefined) await this.#end(probes, how);
  }

  async #end({ scope, since }: Probe, how: 'accepted' | 'rejected' | 'abandoned'): Promise<void> {
    const { redis, id } = this.#options;
    await endProbe(redis, this.#holdKeys, [this.#channel, scope, since, how, id]);
    this.#templates.delete(nameIn(scope));
  }

  async holdTemplate(template: string, kind: HoldKind, code: string): Promise<void> {
    await this.#place(templateScope(template), kind, code);
    await this.#read();
  }

  /** @returns the time of the next probe */
  async #place(scope: HoldScope, kind: HoldKind, code: string, forMs = 0): Promise<number> {
    const { minMs, maxMs } = probeLimits(scope === 'queue' ? kind : 'template', this.#limits);
    const args = [this.#channel, scope, kind, code, Math.ceil(forMs), minMs, maxMs];
    return placeHold(this.#options.redis, this.#holdKeys, args);
  }

  isTemplateHeld(template: string): boolean {
    return this.#heldAs(template) !== undefined;
  }

  /** The hold that is in effect for notices of this name: of the template, by a person, or their own. */
  #heldAs(name: string): { readonly name: string; readonly nextAt: number } | undefined {
    if (this.#templates.size === 0) return undefined;
    for (const held of [heldTemplate(name), name]) {
      const nextAt = this.#templates.get(held);
      if (nextAt !== undefined) return { name: held, nextAt };
    }
    return undefined;
  }

  /** Whether the account is held or this process aside, as far as this process knows. */
  get isHeld(): boolean {
    return this.#known !== undefined || this.isAside;
  }

  /** A time that the service asked for, as far as it is followed: at most `retryAfterMaxMs`. */
  boundedMs(forMs: number): number {
    return Math.min(Math.max(forMs, 0), this.#options.settings.retryAfterMaxMs);
  }

  /** Milliseconds after which a job that met the hold may come again, behind those that did not. */
  behindMs(template: string): number {
    const nextAt = this.#heldAs(template)?.nextAt ?? 0;
    return Math.max(0, nextAt - this.#options.now()) + (1 + Math.random()) * OTHERS_FIRST_MS;
  }

  async #read(): Promise<HoldKind | undefined> {
    const { redis, keys, onTemplateHeld } = this.#options;
    const news = this.#news;
    const { queue, templates } = await readHolds(redis, keys);
    const before = this.#templates;
    this.#templates = new Map(templates.map(({ name, nextProbeAt }) => [name, nextProbeAt]));
    for (const one of templates) if (!before.has(one.name)) onTemplateHeld(one);
    if (news === this.#news) this.#mustRead = false;
    return queue?.kind;
  }

  async #learn(): Promise<void> {
    const kind = await this.#read();
    this.#note(kind);
    if (kind === undefined) this.#own.return();
  }

  #note(kind: HoldKind | undefined): void {
    if (kind === this.#known) return;
    this.#known = kind;
    this.#options.onMove(kind === undefined ? { kind: 'lifted' } : { kind: 'held', hold: kind });
  }
}
