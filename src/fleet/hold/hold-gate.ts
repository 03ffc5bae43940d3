import { randomUUID } from 'node:crypto';
import type { HoldKind } from '../../contracts/hold.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { hintChannel, type Hints } from '../../redis/hints.ts';
import type { Keys } from '../../redis/keys.ts';
import { Evidence } from './evidence.ts';
import { meet } from './evidence-scripts.ts';
import { transitionKeys } from './hold-prelude.ts';
import { endProbe, enterHold, releaseProbe, undecidedProbe } from './hold-scripts.ts';
import { OPEN, type Aside, type Entrant, type Meeting, type Met, type Passage } from './passage.ts';

/**
 * The gate that every attempt passes. The queue is in one of three states, stored in Redis:
 *
 * - open: no hold. Attempts pass, without a round trip once the process knows.
 * - held: a hold was placed. BullMQ's limiter keys are set until the next probe, so that no worker
 *   fetches jobs; jobs that were fetched before are requeued here without spending an attempt.
 *   open -> held: {@link HoldGate.meet}. held -> held: met again; the next probe moves further away,
 *   never closer.
 * - probing: the next probe is due, and the first attempt at the gate took the probe's nonce; all
 *   others wait. The nonce expires after the longest time of an attempt, so a probe whose worker died
 *   is replaced. A job that met the hold itself leaves the probe to others for a moment, and so does one that
 *   was possibly sent where a probe may be taken without an answer (not `credentials`, `address`).
 *   held -> probing: {@link HoldGate.enter}. probing -> open: {@link Passage.answered}, by the table below.
 *   probing -> held, one failed probe more: {@link HoldGate.meet} with the passage, or
 *   {@link Passage.undecided}. probing -> held, due at once: {@link Passage.abandoned}, and an answer that
 *   does not lift this hold.
 *
 * | hold | lifted by |
 * |---|---|
 * | credentials, credit | an acceptance |
 * | failing | three acceptances without a failed probe in between, each probe at once after the other |
 * | address, throttled, token-contested, token-unavailable, unreachable | an acceptance or rejection |
 *
 * A `manual` hold has no probe: `placeManualHold` (current-hold.ts) places it in any state, and only
 * `liftManualHold` lifts it (which lifts any other hold, too). The same holds for `restored`, which
 * the restore guard places over any other hold (workers/maintenance/restore-guard.ts) and a manual hold
 * does not replace.
 *
 * A process learns of holds from hints and from its own attempts; after a gap in the hints it reads the
 * key. Before a hint arrives it may send a few more requests, each of which fails by itself.
 */
export class HoldGate {
  readonly #redis: RedisClient;
  readonly #hints: Pick<Hints, 'subscribe'>;
  readonly #keys: GateKeys;
  readonly #settings: HoldSettings;
  readonly #evidence: Evidence;
  readonly #onMove: (move: HoldMove) => void;
  /** Whether attempts ask Redis; false while this process knows that there is no hold. */
  #mustAsk = true;
  /** Raised whenever the process learns something: an answer that was asked for before is then outdated. */
  #news = 0;
  /** As read after the last hint. */
  #isHeld: boolean | undefined;
  #unsubscribe: (() => void) | undefined;

  /**
   * @param currentToken key of the token's record: an acceptance counts as evidence with the current token
   * @param onMove called with each hold that this process learns of, for the log
   */
  constructor(
    redis: RedisClient,
    hints: Pick<Hints, 'subscribe'>,
    keys: Keys,
    currentToken: string,
    settings: HoldSettings,
    onMove: (move: HoldMove) => void = () => {},
  ) {
    this.#redis = redis;
    this.#hints = hints;
    this.#keys = gateKeys(redis, keys, currentToken);
    this.#settings = settings;
    this.#evidence = new Evidence(redis, hints, this.#keys.probe, this.#keys.evidenceChannel);
    this.#onMove = onMove;
  }

  /** Subscribes to hints. Until the first answer of Redis every attempt asks Redis. */
  start(): void {
    this.#evidence.start();
    this.#unsubscribe ??= this.#hints.subscribe(this.#keys.channel, (text) => {
      this.forget();
      if (text !== undefined) void this.#reportMove();
    });
  }

  /** After a hint: what it is about is read, not believed. */
  async #reportMove(): Promise<void> {
    try {
      const [hold] = await this.#redis.hmget(this.#keys.hold[0] ?? '', 'kind');
      if (hold !== null && hold !== undefined) {
        this.#onMove({ kind: 'held', hold: hold as HoldKind });
      } else if (this.#isHeld !== false) this.#onMove({ kind: 'lifted' });
      this.#isHeld = typeof hold === 'string';
    } catch {
      // The next attempt asks, and fails as this did.
    }
  }

  /** Unsubscribes. */
  stop(): void {
    this.#evidence.stop();
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  /** Makes the next attempt ask Redis, even before a hint arrives. */
  forget(): void {
    this.#news++;
    this.#mustAsk = true;
  }

  /**
   * Asks to make an attempt: without a promise while this process knows that there is no hold.
   *
   * @returns a passage; how long this job leaves the probe to others; or undefined when the queue is held:
   *   requeue the job
   * @throws ScriptFailure, and what the entrant throws
   */
  enter(entrant: Entrant): Passage | Promise<Passage | Aside | undefined> {
    return this.#mustAsk ? this.#ask(entrant) : OPEN;
  }

  async #ask({ job, possiblySent }: Entrant): Promise<Passage | Aside | undefined> {
    const nonce = randomUUID();
    const news = this.#news;
    const sent = typeof possiblySent === 'number' ? possiblySent : await possiblySent();
    const args = [nonce, this.#settings.probeTtlMs, job, sent];
    let verdict: string;
    let ms: number;
    try {
      const answer = (await enterHold(this.#redis, this.#keys.probe, args)) as [string, unknown?];
      verdict = answer[0];
      ms = Number(answer[1] ?? 0);
    } catch (error) {
      // Its answer may be lost: a probe that nothing follows would stop all sends until its nonce expires.
      void releaseProbe(this.#redis, this.#keys.hold, [nonce]).catch(() => {});
      throw error;
    }
    switch (verdict) {
      case 'open':
        if (news === this.#news) this.#mustAsk = false;
        return OPEN;
      case 'probe':
        return this.#probe(nonce);
      case 'aside':
        return { asideMs: ms };
      default:
        return undefined;
    }
  }

  /**
   * Records what a job met, and decides whether the queue is held, or its hold extended (evidence.ts).
   *
   * @param passage of the attempt
   * @throws ScriptFailure
   */
  async meet(meeting: Meeting, passage: Pick<Passage, 'probe'>): Promise<Met> {
    const { job, attempt, class: as, hold, code, token, forMs, ownAfter = 0 } = meeting;
    const { retryAfterMaxMs } = this.#settings;
    const bounded = Math.ceil(Math.min(Math.max(forMs ?? 0, 0), retryAfterMaxMs));
    const { shortest, longest } = probesOf(meeting, this.#settings);
    const { channel, evidenceChannel } = this.#keys;
    const [verdict, value, first] = (await meet(this.#redis, this.#keys.meet, [
      job,
      attempt,
      as,
      hold,
      code,
      token,
      passage.probe ?? '',
      bounded,
      shortest,
      longest,
      ownAfter,
      channel,
      evidenceChannel,
    ])) as [Met['kind'], number?, number?];
    switch (verdict) {
      case 'held':
        this.forget();
        return { kind: 'held', behindMs: value ?? 0 };
      case 'counted':
        return { kind: 'counted', disproved: value === 1, first: first === 1 };
      case 'own':
        return { kind: 'own' };
    }
  }

  /**
   * An attempt that is no probe was accepted: evidence, where it is asked for.
   *
   * @param token id of its token
   * @param begunAt monotonic time before its request
   * @returns undefined where nothing is asked for
   * @throws ScriptFailure
   */
  accepted(token: string, begunAt: number): Promise<void> | undefined {
    return this.#evidence.accepted(token, begunAt);
  }

  #probe(nonce: string): Passage {
    const { channel, evidenceChannel, hold, probe } = this.#keys;
    const { probeMinMs, probeMaxMs } = this.#settings;
    return {
      probe: nonce,
      answered: async (as, token) => {
        await endProbe(this.#redis, probe, [nonce, channel, evidenceChannel, as, token]);
      },
      undecided: async () => {
        await undecidedProbe(this.#redis, hold, [nonce, channel, probeMinMs, probeMaxMs]);
      },
      abandoned: async () => {
        await releaseProbe(this.#redis, hold, [nonce]);
      },
    };
  }
}

/** Keys and channels of the scripts. */
interface GateKeys {
  readonly hold: readonly string[];
  readonly probe: readonly string[];
  readonly meet: readonly string[];
  readonly channel: string;
  readonly evidenceChannel: string;
}

function gateKeys(redis: RedisClient, keys: Keys, currentToken: string): GateKeys {
  const hold = transitionKeys(keys);
  const probe = [...hold, keys.evidence, keys.witness, currentToken];
  return {
    hold,
    probe,
    meet: [...probe, keys.noticesIn('wait'), keys.waitingChunks, keys.noticesIn('prioritized')],
    channel: hintChannel(redis, keys.holdHints),
    evidenceChannel: hintChannel(redis, keys.evidenceHints),
  };
}

/**
 * Intervals of probes. What may be one notice's own is probed four times as often: the others may be fine.
 * A connection attempt costs nothing, so `unreachable` is probed every few seconds.
 */
function probesOf(
  { hold, class: as }: Pick<Meeting, 'hold' | 'class'>,
  { probeMinMs: shortest, probeMaxMs: longest }: HoldSettings,
): { readonly shortest: number; readonly longest: number } {
  if (hold === 'unreachable') return { shortest, longest: Math.min(longest, 2 * shortest + 1_000) };
  if (as === 'page' || as === 'refusal') return { shortest: shortest / 4, longest: longest / 4 };
  return { shortest, longest };
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

/** A hold was placed or lifted. */
export type HoldMove =
  { readonly kind: 'held'; readonly hold: HoldKind } | { readonly kind: 'lifted' };
