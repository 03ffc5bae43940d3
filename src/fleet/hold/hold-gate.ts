import { randomUUID } from 'node:crypto';
import { HOLDS, type Hold, type HoldKind } from '../../contracts/hold.ts';
import type { RedisClient } from '../../redis/connect.ts';
import type { Hints } from '../../redis/hints.ts';
import type { Keys } from '../../redis/keys.ts';
import {
  enterHold,
  liftHoldByProbe,
  liftManual,
  placeHold,
  placeManual,
  releaseProbe,
} from './hold-scripts.ts';

/**
 * The gate that every attempt passes. The queue is in one of three states, stored in Redis:
 *
 * - open: no hold. Attempts pass, without a round trip once the process knows.
 * - held: a hold was placed. BullMQ's limiter keys are set until the next probe, so that no worker
 *   fetches jobs; jobs that were fetched before are requeued here without spending an attempt.
 *   open -> held: {@link HoldGate.place}. held -> held: placed again; the next probe moves further away,
 *   never closer.
 * - probing: the next probe is due, and the first attempt at the gate took the probe's nonce; all
 *   others wait. The nonce expires after the longest time of an attempt, so a probe whose worker died
 *   is replaced.
 *   held -> probing: {@link HoldGate.enter}. probing -> open: {@link Passage.succeeded}.
 *   probing -> held, one failed probe more: {@link HoldGate.place} with the passage, or
 *   {@link Passage.undecided}. probing -> held, due at once: {@link Passage.abandoned}.
 *
 * A `manual` hold has no probe: {@link placeManualHold} places it in any state, and only
 * {@link liftManualHold} lifts it (which lifts any other hold, too). The same holds for `restored`, which
 * the restore guard places over any other hold (workers/maintenance/restore-guard.ts) and a manual hold
 * does not replace.
 *
 * A process learns of holds from hints and from its own attempts; after a gap in the hints it reads the
 * key. Before a hint arrives it may send a few more requests, each of which fails by itself.
 */
export class HoldGate {
  readonly #redis: RedisClient;
  readonly #hints: Pick<Hints, 'subscribe'>;
  readonly #keys: readonly string[];
  readonly #channel: string;
  readonly #settings: HoldSettings;
  readonly #onMove: (move: HoldMove) => void;
  /** Whether attempts ask Redis; false while this process knows that there is no hold. */
  #mustAsk = true;
  #unsubscribe: (() => void) | undefined;

  /** @param onMove called with each hold that this process learns of, for the log */
  constructor(
    redis: RedisClient,
    hints: Pick<Hints, 'subscribe'>,
    keys: Keys,
    settings: HoldSettings,
    onMove: (move: HoldMove) => void = () => {},
  ) {
    this.#redis = redis;
    this.#hints = hints;
    this.#keys = scriptKeys(keys);
    this.#channel = keys.holdHints;
    this.#settings = settings;
    this.#onMove = onMove;
  }

  /** Subscribes to hints. Until the first answer of Redis every attempt asks Redis. */
  start(): void {
    this.#unsubscribe ??= this.#hints.subscribe(this.#channel, (text) => {
      const held = text === undefined || text !== '';
      this.#mustAsk = held;
      if (text !== undefined) {
        this.#onMove(held ? { kind: 'held', hold: text as HoldKind } : { kind: 'lifted' });
      }
    });
  }

  /** Unsubscribes. */
  stop(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  /** Makes the next attempt ask Redis, even before a hint arrives. */
  forget(): void {
    this.#mustAsk = true;
  }

  /**
   * Asks to make an attempt.
   *
   * @returns a passage, or undefined when the queue is held: requeue the job
   * @throws ScriptFailure
   */
  async enter(): Promise<Passage | undefined> {
    if (!this.#mustAsk) return OPEN;
    const nonce = randomUUID();
    const answer = await enterHold(this.#redis, this.#keys, [nonce, this.#settings.probeTtlMs]);
    const [verdict] = answer as [string];
    switch (verdict) {
      case 'open':
        this.#mustAsk = false;
        return OPEN;
      case 'probe':
        return {
          probe: nonce,
          succeeded: async () => {
            await liftHoldByProbe(this.#redis, this.#keys, [nonce, this.#channel]);
          },
          undecided: () => this.#place('', '', nonce, 0),
          abandoned: async () => {
            await releaseProbe(this.#redis, this.#keys, [nonce]);
          },
        };
      default:
        return undefined;
    }
  }

  /**
   * Holds the queue, or extends the hold.
   *
   * @param code of the service or of ours that caused it
   * @param passage of the attempt that caused it
   * @param forMs milliseconds to the next probe when the cause names them (Retry-After, the rest of a
   *   refusal); otherwise they double with each failed probe, between the configured bounds
   * @throws ScriptFailure
   */
  async place(kind: HoldKind, code: string, passage: Passage, forMs?: number): Promise<void> {
    this.#mustAsk = true;
    const { retryAfterMaxMs } = this.#settings;
    const bounded =
      forMs === undefined ? 0 : Math.ceil(Math.min(Math.max(forMs, 1), retryAfterMaxMs));
    await this.#place(kind, code, passage.probe ?? '', bounded);
  }

  async #place(kind: HoldKind | '', code: string, nonce: string, forMs: number): Promise<void> {
    const { probeMinMs, probeMaxMs } = this.#settings;
    const args = [kind, code, forMs, probeMinMs, probeMaxMs, nonce, this.#channel];
    await placeHold(this.#redis, this.#keys, args);
  }
}

/** Limits of holds, in milliseconds. */
export interface HoldSettings {
  /** HOLD_PROBE_MIN_MS: time to the first probe. */
  readonly probeMinMs: number;
  /** HOLD_PROBE_MAX_MS: longest time between probes. */
  readonly probeMaxMs: number;
  /** RETRY_AFTER_MAX_MS: longest Retry-After that is followed. */
  readonly retryAfterMaxMs: number;
  /** How long a probe may take: one attempt. */
  readonly probeTtlMs: number;
}

/** Permission to make one attempt. The methods report its end; they do nothing unless it is a probe. */
export interface Passage {
  /** Nonce of the probe; undefined when the attempt is none. */
  readonly probe: string | undefined;
  /** The service processed the request: lifts the hold for the fleet. */
  succeeded(): Promise<void>;
  /** The probe was inconclusive: the next one comes later. */
  undecided(): Promise<void>;
  /** The attempt ended without a request: another job may probe at once. */
  abandoned(): Promise<void>;
}

/** A hold was placed or lifted. */
export type HoldMove =
  { readonly kind: 'held'; readonly hold: HoldKind } | { readonly kind: 'lifted' };

const nothing = () => Promise.resolve();

/** Of an attempt that is no probe. */
export const OPEN: Passage = {
  probe: undefined,
  succeeded: nothing,
  undecided: nothing,
  abandoned: nothing,
};

/**
 * Holds the queue manually, until {@link liftManualHold}.
 *
 * @param why a few words, shown as the hold's code by `notices status`
 * @throws ScriptFailure
 */
export async function placeManualHold(redis: RedisClient, keys: Keys, why: string): Promise<void> {
  await placeManual(redis, scriptKeys(keys), [why, keys.holdHints]);
}

/**
 * Lifts the hold in effect, of any kind. If its cause persists, the next send places it again.
 *
 * @returns the kind of the hold that was lifted; undefined when there was none
 * @throws ScriptFailure
 */
export async function liftManualHold(
  redis: RedisClient,
  keys: Keys,
): Promise<HoldKind | undefined> {
  const kind = String(await liftManual(redis, scriptKeys(keys), [keys.holdHints]));
  return kind in HOLDS ? (kind as HoldKind) : undefined;
}

const scriptKeys = (keys: Keys) => [keys.hold, keys.holdProbe, keys.limiter, keys.chunkLimiter];

/** Reads the hold in effect; undefined when there is none. */
export async function readHold(redis: RedisClient, keys: Keys): Promise<Hold | undefined> {
  const fields = await redis.hgetall(keys.hold);
  const kind = fields['kind'];
  if (kind === undefined || !(kind in HOLDS)) return undefined;
  return {
    kind: kind as HoldKind,
    code: fields['code'] ?? '',
    since: Number(fields['since']),
    nextProbeAt: Number(fields['nextProbeAt']),
    failedProbes: Number(fields['failedProbes']),
  };
}
