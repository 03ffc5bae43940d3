import { randomUUID } from 'node:crypto';
import { HOLDS, type Hold, type HoldKind } from '../../contracts/hold.ts';
import type { RedisClient } from '../../redis/connect.ts';
import type { Hints } from '../../redis/hints.ts';
import type { Keys } from '../../redis/keys.ts';
import {
  enterHold,
  liftAuditedHold,
  liftManualHoldScript,
  placeHold,
  placeManualHoldScript,
  releaseProbe,
} from './hold-scripts.ts';

/**
 * The gate every attempt passes. The queue is in one of three states, kept in Redis:
 *
 * - flowing: no hold. Attempts pass, and a process that believes so asks nobody: no round trip.
 * - held: somebody placed a hold. BullMQ's limiter key stands until the next probe, so no worker
 *   fetches; what was fetched before bounces here, without spending an attempt.
 *   flowing -> held: {@link HoldGate.place}. held -> held: placed again; the next probe moves
 *   further away and never nearer.
 * - probing: the time has come, and the first attempt at the gate took the probe's nonce; all
 *   others wait. The nonce lives no longer than an attempt may take, so a probe that died with its
 *   worker frees itself.
 *   held -> probing: {@link HoldGate.enter}. probing -> flowing: {@link Passage.succeeded}.
 *   probing -> held, one failed probe more: {@link HoldGate.place} with the passage, or
 *   {@link Passage.undecided}. probing -> held, due at once: {@link Passage.abandoned}.
 *
 * A hold by hand (`manual`) has no probe: flowing, held or probing -> held by {@link placeManualHold}, and
 * only {@link liftManualHold} ends it; that one ends any other hold, too. So it is with `restored`, which
 * the restore guard places over any other (restore-guard.ts of the workers), and which a hold by hand
 * does not replace.
 *
 * A process learns of holds by hints and by its own; after a gap in the hints it reads the key. A
 * process that has not heard yet sends a few calls more, each of which bounces by itself.
 */
export class HoldGate {
  readonly #redis: RedisClient;
  readonly #hints: Pick<Hints, 'subscribe'>;
  readonly #keys: readonly string[];
  readonly #channel: string;
  readonly #settings: HoldSettings;
  readonly #onMove: (move: HoldMove) => void;
  #believedHeld = true;
  #unsubscribe: (() => void) | undefined;

  /** @param onMove told of each hold this process learns of, for the log */
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

  /** Begins to listen. Until the first answer of Redis every attempt asks at the gate. */
  start(): void {
    this.#unsubscribe ??= this.#hints.subscribe(this.#channel, (text) => {
      const held = text === undefined || text !== '';
      this.#believedHeld = held;
      if (text !== undefined) {
        this.#onMove(held ? { kind: 'held', hold: text as HoldKind } : { kind: 'lifted' });
      }
    });
  }

  stop(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  /** Believes nothing any longer: the next attempt asks Redis, before a hint has come. */
  forget(): void {
    this.#believedHeld = true;
  }

  /**
   * Asks to make an attempt.
   *
   * @returns a passage, or undefined when the queue is held: the job goes back
   */
  async enter(): Promise<Passage | undefined> {
    if (!this.#believedHeld) return OPEN;
    const nonce = randomUUID();
    const answer = await enterHold(this.#redis, this.#keys, [nonce, this.#settings.probeTtlMs]);
    const [verdict] = answer as [string];
    switch (verdict) {
      case 'open':
        this.#believedHeld = false;
        return OPEN;
      case 'probe':
        return {
          probe: nonce,
          succeeded: async () => {
            await liftAuditedHold(this.#redis, this.#keys, [nonce, this.#channel]);
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
   * Holds the queue, or holds it longer.
   *
   * @param forMs milliseconds to the next probe where the cause names them (Retry-After, the rest
   *   of a refusal); else it doubles with each failed probe, between the configured bounds
   */
  async place(kind: HoldKind, code: string, passage: Passage, forMs?: number): Promise<void> {
    this.#believedHeld = true;
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

/** Bounds of holds, in milliseconds. */
export interface HoldSettings {
  readonly probeMinMs: number;
  readonly probeMaxMs: number;
  readonly retryAfterMaxMs: number;
  /** How long a probe may take: one whole attempt. */
  readonly probeTtlMs: number;
}

/** Leave to make one attempt; the endings do nothing unless the attempt is a hold's probe. */
export interface Passage {
  readonly probe: string | undefined;
  /** The service dealt with the request: the hold is over for all. */
  succeeded(): Promise<void>;
  /** The service did not answer the question: the next probe comes later. */
  undecided(): Promise<void>;
  /** The attempt ended before it began: another job may probe at once. */
  abandoned(): Promise<void>;
}

/** What a process learned of a hold. */
export type HoldMove =
  { readonly kind: 'held'; readonly hold: HoldKind } | { readonly kind: 'lifted' };

const nothing = () => Promise.resolve();

const OPEN: Passage = {
  probe: undefined,
  succeeded: nothing,
  undecided: nothing,
  abandoned: nothing,
};

/**
 * Holds the queue by hand, until it is lifted by hand.
 *
 * @param why what `notices status` shows as its code: a few words
 */
export async function placeManualHold(redis: RedisClient, keys: Keys, why: string): Promise<void> {
  await placeManualHoldScript(redis, scriptKeys(keys), [why, keys.holdHints]);
}

/**
 * Ends the hold in force, whoever placed it. Where its cause lasts, the next send places it again.
 *
 * @returns the kind of the hold that was lifted; undefined where nothing held
 */
export async function liftManualHold(
  redis: RedisClient,
  keys: Keys,
): Promise<HoldKind | undefined> {
  const kind = String(await liftManualHoldScript(redis, scriptKeys(keys), [keys.holdHints]));
  return kind in HOLDS ? (kind as HoldKind) : undefined;
}

const scriptKeys = (keys: Keys) => [keys.hold, keys.holdProbe, keys.limiter, keys.chunkLimiter];

/** Reads the hold in force, for status and pages. */
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
