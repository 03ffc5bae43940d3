import { controllerForMany, pause } from '../../src/async/cancellation.ts';
import { heldTemplate } from '../../src/contracts/hold.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import { closedHours } from '../../src/contracts/send-windows.ts';
import { OPEN, type Passage, type PutOff } from '../../src/fleet/hold/hold-gate.ts';
import { AccountRow, Acceptances, Throttled } from '../../src/fleet/hold/trouble.ts';
import type { RateLimiter } from '../../src/fleet/rate-limit/rate-limiter.ts';
import { REDIS_AGAIN_MS } from './disposition.ts';
import {
  type Attempted,
  type Entered,
  type GateJob,
  type HoldOutcome,
  AGAIN_MS,
  judgeJob,
  TemplateRefusals,
  type GateBasis,
} from './template-refusals.ts';

/** Shortest wait after a 429, whatever its Retry-After says. */
const THROTTLED_MIN_MS = 1_000;

/** Where the requests before it fail, one more waits for an end; where for so long none began or ended, it goes. */
const ONE_ENDS_MS = 1_000;

export interface SendGateOptions extends GateBasis {
  /** Whether this worker takes no jobs. */
  readonly isSuspended: () => boolean;
  /** Whether Redis has everything this worker remembers, i.e. is not an old copy (restore-guard.ts). */
  readonly isComplete: () => boolean | Promise<boolean>;
  readonly rateLimiter: Pick<RateLimiter, 'throttled'>;
  /** SEND_WINDOWS */
  readonly sendWindows?: string | undefined;
}

/**
 * Lets attempts begin, and decides what their ends say about the next ones: about the account, one template, or the
 * notice alone (src/fleet/hold/trouble.ts). A failing Redis sends nothing.
 */
export class SendGate {
  readonly #options: SendGateOptions;
  readonly #account = new AccountRow(performance.now());
  readonly templates: TemplateRefusals;
  readonly #acceptances = new Acceptances();
  readonly #throttled = new Throttled();
  #acceptedAt = -Infinity;
  #underWay = 0;
  /** When an attempt was last started or ended, by performance.now(). */
  #movedAt = 0;
  #nextEnd: AbortController | undefined;

  constructor(options: SendGateOptions) {
    this.#options = options;
    this.templates = new TemplateRefusals(options);
  }

  /**
   * Leave to make one attempt; undefined while the worker is suspended or the account is held, or how long
   * the job is put off because its template is held or closed, or others go first.
   */
  async enter(job: GateJob): Promise<Entered | PutOff | undefined> {
    const { isSuspended, isComplete, holds, log } = this.#options;
    try {
      if (isSuspended()) return undefined;
      const complete = isComplete();
      if (!(complete instanceof Promise ? await complete : complete)) return undefined;
      // It would make the row no longer: its place is for another job.
      if (this.#underWay > 0 && this.#account.has(job.id, performance.now())) {
        return { putOffMs: AGAIN_MS };
      }
      const { template, trouble, runs, leavesProbes } = job;
      const putOffMs = this.#closedMs(template);
      if (putOffMs > 0) return { putOffMs };
      let passage: Passage | PutOff | undefined;
      do {
        while (this.#mustWait) await this.#oneEnds();
        // It may have stepped aside meanwhile.
        if (isSuspended()) return undefined;
        const entered = holds.enter(template, trouble !== undefined, runs, leavesProbes);
        passage = entered instanceof Promise ? await entered : entered;
        // Another attempt may have started or ended while Redis was asked.
      } while (passage === OPEN && (this.#mustWait || isSuspended()));
      if (passage === undefined || 'putOffMs' in passage) return passage;
      this.#underWay++;
      this.#movedAt = performance.now();
      if (trouble === undefined) return passage;
      return { ...passage, isContradicted: this.#acceptances.contradict(trouble) };
    } catch (error) {
      log.trouble('gate', error);
      await pause(REDIS_AGAIN_MS);
      return undefined;
    }
  }

  /**
   * What an attempt came to for its job, after what it says about the others. A failing Redis costs a probe here,
   * never an outcome.
   *
   * | outcome | becomes |
   * |---|---|
   * | hold, the account or the template is held | hold, with the time after which the job comes again |
   * | hold, otherwise | a retry, counted or not, or a rejection (`judgeTrouble`) |
   * | rejected, while the template is held or from now on | hold, with that time |
   * | any other, or none | the same |
   */
  async leave(job: GateJob, entered: Entered, attempted: Attempted): Promise<Outcome | undefined> {
    const { outcome } = attempted;
    const { holds, log } = this.#options;
    try {
      switch (outcome?.kind) {
        case 'accepted':
          await this.#accepted(job, entered, attempted);
          break;
        case 'hold':
          if (outcome.scope === 'template')
            return await this.templates.refused(job, entered, outcome, attempted.answer);
          return await this.#met(job, entered, outcome);
        case 'rejected':
          await holds.answered(entered, 'rejected');
          return await this.templates.rejected(job, entered, outcome, attempted.answer);
        case 'unknown':
          await this.#concernsAll(job, { hold: 'failing', code: outcome.code }, entered);
          break;
        case 'retry':
          await holds.answered(entered, 'inconclusive');
          break;
        case 'expired':
        case 'suppressed':
        case undefined:
          await holds.answered(entered, 'abandoned');
          break;
      }
    } catch (error) {
      log.trouble('hold', error);
      if (outcome?.kind === 'hold') return { kind: 'retry', code: outcome.code, counted: false };
    } finally {
      // Only now: the attempt that waits for this end must find the hold that follows from it.
      this.#underWay--;
      this.#movedAt = performance.now();
      this.#nextEnd?.abort();
      this.#nextEnd = undefined;
    }
    return outcome;
  }

  /** Milliseconds since the last acceptance; infinite where there was none. */
  get acceptedAgoMs(): number {
    return performance.now() - this.#acceptedAt;
  }

  isInHours(template: string): boolean {
    return this.#closedMs(template) === 0;
  }

  /** Milliseconds until the sending hours of a template; 0 while it may be sent. */
  #closedMs(template: string): number {
    const { sendWindows, now } = this.#options;
    if (sendWindows === undefined) return 0;
    const { opensAt = 0 } = closedHours(sendWindows, heldTemplate(template), now()) ?? {};
    return Math.max(0, Math.ceil(opensAt - now()));
  }

  /** Milliseconds after which a job may come again whose template is held or closed; undefined where it is not. */
  restOf(template: string): number | undefined {
    const { holds } = this.#options;
    const closedMs = this.#closedMs(template);
    if (closedMs > 0) return closedMs;
    return holds.isTemplateHeld(template) ? holds.behindMs(template) : undefined;
  }

  /** Whether an attempt waits for the end of another, which may say that all fail. */
  get #mustWait(): boolean {
    return this.#account.isDoubtful && this.#underWay > 0 && this.#restMs > 0;
  }

  /** Milliseconds for which an attempt may still wait for the end of another. */
  get #restMs(): number {
    return this.#movedAt + ONE_ENDS_MS - performance.now();
  }

  /** Until an attempt under way has ended, or for the rest of the second. */
  async #oneEnds(): Promise<void> {
    this.#nextEnd ??= controllerForMany();
    await pause(this.#restMs, this.#nextEnd.signal);
  }

  async #accepted(
    job: GateJob,
    entered: Entered,
    { answer, requestedAt = performance.now() }: Attempted,
  ): Promise<void> {
    const { holds, now, histories } = this.#options;
    const monotonic = performance.now();
    this.#acceptedAt = monotonic;
    this.#account.accepted(monotonic);
    this.templates.accepted(job.template);
    this.#acceptances.note(answer?.tokenId ?? '', now() - (monotonic - requestedAt));
    await holds.answered(entered, 'accepted');
    if (job.trouble !== undefined) await histories.forgetTrouble(job.id);
  }

  async #met(job: GateJob, entered: Entered, outcome: HoldOutcome): Promise<Outcome> {
    const { holds, rateLimiter } = this.#options;
    const { hold, code } = outcome;
    const isThrottled = hold === 'throttled';
    const asked = outcome.forMs === undefined ? undefined : holds.boundedMs(outcome.forMs);
    const forMs = isThrottled ? Math.max(asked ?? 0, THROTTLED_MIN_MS) : asked;
    if (isThrottled && !holds.isHeld && this.#throttled.note(job.id, performance.now())) {
      await rateLimiter.throttled();
    }
    const always = outcome.scope === 'all';
    await this.#concernsAll(job, { hold, code, forMs, always }, entered);
    const { rejectAfter } = outcome;
    const verdict = await judgeJob(
      job,
      entered,
      { hold, code, rejectAfter },
      holds.isHeld,
      this.#options,
    );
    if (verdict.kind === 'reject') return { kind: 'rejected', code, own: true };
    if (holds.isHeld) return { ...outcome, behindMs: holds.behindMs(job.template) };
    if (!verdict.counted) return { ...outcome, behindMs: forMs ?? AGAIN_MS };
    const backoff = forMs === undefined ? verdict.backoff : { ms: forMs };
    return { kind: 'retry', code, counted: true, backoff };
  }

  /** Places a hold of the account where a row of different notices, or the cause itself, says that all would meet it. */
  async #concernsAll(
    { id }: GateJob,
    { hold, code, forMs, always = false }: AccountTrouble,
    passage: Passage,
  ): Promise<void> {
    const { holds } = this.#options;
    if (holds.failed(passage, hold, forMs)) return;
    const isRow = this.#account.note(id, performance.now());
    if (always || passage.probes !== undefined || (isRow && !holds.isHeld)) {
      await holds.place(hold, code, forMs);
    }
  }
}

interface AccountTrouble {
  readonly hold: HoldOutcome['hold'];
  readonly code: string;
  readonly forMs?: number | undefined;
  /** The cause says so itself. */
  readonly always?: boolean;
}
