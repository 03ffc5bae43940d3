import { randomBytes } from 'node:crypto';
import type { Outcome } from '../../src/contracts/outcome.ts';
import type { HoldGate } from '../../src/fleet/hold/hold-gate.ts';
import type { Aside, Entrant, Meeting, Passage } from '../../src/fleet/hold/passage.ts';
import type { SendAnswer } from '../../src/service/response/send-answer.ts';
import type { RateLimiter } from '../../src/fleet/rate-limit/rate-limiter.ts';
import type { AttemptLog } from './attempt-log.ts';
import type { WorkerRefusal } from './worker-refusal.ts';

/** Shortest hold after a 429, whatever its Retry-After says. */
const THROTTLED_MIN_MS = 1_000;

/** What decides whether attempts may be made. */
export interface SendGateOptions {
  /** Whether this worker takes no jobs. */
  readonly isSuspended: () => boolean;
  /** Whether Redis has everything this worker remembers, i.e. is not an old copy (restore-guard.ts). */
  readonly isComplete: () => boolean | Promise<boolean>;
  readonly holds: Pick<HoldGate, 'enter' | 'meet' | 'accepted'>;
  readonly rateLimiter: Pick<RateLimiter, 'throttled'>;
  /** Whether the service refuses this worker, or every one. */
  readonly refusal: Pick<WorkerRefusal, 'judge' | 'accepted'>;
  readonly log: Pick<AttemptLog, 'trouble'>;
}

/** What the gate needs to know of an attempt. */
export interface GateAttempt {
  /** Undefined when nothing was sent, or only a request that was refused, and no notice is to blame. */
  readonly outcome: Outcome | undefined;
  readonly answer?: SendAnswer | undefined;
  /** Monotonic time before the last request. */
  readonly requestedAt?: number | undefined;
}

/** Lets attempts begin, and places or lifts holds by their outcomes. A failing Redis sends nothing. */
export class SendGate {
  readonly #options: SendGateOptions;

  constructor(options: SendGateOptions) {
    this.#options = options;
  }

  /**
   * Leave to make one attempt; undefined while the worker is suspended or the queue is held, or how long
   * the job leaves a probe to others.
   */
  async enter(entrant: Entrant): Promise<Passage | Aside | undefined> {
    const { isSuspended, isComplete, holds, log } = this.#options;
    try {
      if (isSuspended()) return undefined;
      const complete = isComplete();
      if (!(complete instanceof Promise ? await complete : complete)) return undefined;
      const passage = holds.enter(entrant);
      return passage instanceof Promise ? await passage : passage;
    } catch (error) {
      log.trouble('gate', error);
      return undefined;
    }
  }

  /**
   * Places or lifts holds after an attempt, and lowers the rate limit after a 429. A failing Redis costs
   * a probe here, never an outcome.
   *
   * | outcome | becomes |
   * |---|---|
   * | hold of this worker alone (worker-refusal.ts) | none: the job is returned, and nothing is held |
   * | hold | hold, with the time after which the job comes again; or, by the evidence, a counted retry or a rejection; a code about the token counts from the second time |
   * | unknown | unknown; with the time after which the job comes again where the queue is held |
   * | any other, or none | the same |
   *
   * @param attempted its outcome is undefined where nothing was sent and no notice is to blame
   * @param job its id
   */
  async leave(
    { outcome, answer, requestedAt }: GateAttempt,
    passage: Passage,
    job: string,
  ): Promise<Outcome | undefined> {
    const token = answer?.tokenId ?? '';
    try {
      switch (outcome?.kind) {
        case 'hold':
          return await this.#hold(outcome, passage, { job, token });
        case 'unknown':
          return await this.#meet(outcome, passage, { job, token });
        case 'accepted':
          this.#options.refusal.accepted();
          if (passage.probe !== undefined) await passage.answered('accepted', token);
          else {
            const reported = this.#options.holds.accepted(token, requestedAt ?? -Infinity);
            if (reported !== undefined) await reported;
          }
          break;
        case 'rejected':
          await passage.answered('rejected', token);
          break;
        case 'retry':
          await passage.undecided();
          break;
        case 'expired':
        case 'cancelled':
        case undefined:
          await passage.abandoned();
          break;
      }
    } catch (error) {
      this.#options.log.trouble('hold', error);
      if (outcome?.kind === 'hold' && outcome.ownAfter !== undefined) {
        return { kind: 'retry', code: outcome.code, counted: false };
      }
    }
    return outcome;
  }

  /** Places a hold, or none where the service refuses this worker alone. */
  async #hold(
    outcome: Extract<Outcome, { kind: 'hold' }>,
    passage: Passage,
    of: MeetingJob,
  ): Promise<Outcome | undefined> {
    if (outcome.caller === undefined) return await this.#meet(outcome, passage, of);
    switch (await this.#options.refusal.judge(outcome)) {
      case 'first':
        return await this.#meet({ ...outcome, ownAfter: 0 }, passage, of);
      case 'all':
        return await this.#meet(outcome, passage, of);
      case 'alone':
        await passage.abandoned();
        return undefined;
    }
  }

  async #meet(
    outcome: Extract<Outcome, { kind: 'hold' | 'unknown' }>,
    passage: Passage,
    { job, token }: MeetingJob,
  ): Promise<Outcome> {
    const { holds, rateLimiter } = this.#options;
    const { code } = outcome;
    const attempt = randomBytes(9).toString('base64url');
    if (outcome.kind === 'unknown') {
      const meeting = { job, attempt, class: 'unknown', hold: 'failing', code, token } as const;
      const met = await holds.meet(meeting, passage);
      return met.kind === 'held' ? { ...outcome, behindMs: met.behindMs } : outcome;
    }
    const { hold, forMs, ownAfter } = outcome;
    const as = classOf(outcome);
    const least = hold === 'throttled' ? THROTTLED_MIN_MS : 0;
    const met = await holds.meet(
      {
        job,
        attempt,
        class: as,
        hold,
        code,
        token,
        ownAfter,
        forMs: forMs === undefined ? undefined : Math.max(forMs, least),
      },
      passage,
    );
    if (hold === 'throttled' && met.kind === 'held') await rateLimiter.throttled();
    switch (met.kind) {
      case 'held':
        return met.behindMs === 0 ? outcome : { ...outcome, behindMs: met.behindMs };
      case 'counted':
        // A token that became invalid once more while the notice was sent is not its fault.
        if (ownAfter === 0 && met.first) return { kind: 'retry', code, counted: false };
        // Nor is an address, unless others were accepted.
        if (outcome.caller !== undefined && !met.disproved)
          return { kind: 'retry', code, counted: false };
        return { kind: 'retry', code, counted: true, backoff: met.disproved ? 'near' : 'far' };
      case 'own':
        return { kind: 'rejected', code, own: true };
    }
  }
}

/** The job that met it, and the token of its request. */
interface MeetingJob {
  readonly job: string;
  readonly token: string;
}

function classOf({ always, hold, ownAfter }: Extract<Outcome, { kind: 'hold' }>): Meeting['class'] {
  if (always === true) return 'always';
  if (ownAfter === undefined) return 'stated';
  return hold === 'credentials' ? 'refusal' : 'page';
}
