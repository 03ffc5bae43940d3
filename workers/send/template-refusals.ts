import { pause } from '../../src/async/cancellation.ts';
import type { HoldGate, Passage } from '../../src/fleet/hold/hold-gate.ts';
import { type NamedHold } from '../../src/fleet/hold/holds.ts';
import { heldTemplate } from '../../src/contracts/hold.ts';
import {
  judgeTrouble,
  TemplateRows,
  withTrouble,
  type Refused,
  type Trouble,
  type TroubleHistory,
  type TroubleVerdict,
} from '../../src/fleet/hold/trouble.ts';
import type { JobHistories } from '../../src/fleet/job-history.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import type { AttemptLog } from './attempt-log.ts';
import type { SendAnswer } from '../../src/service/send-call.ts';

export interface GateJob {
  readonly id: string;
  /** Under which its template is held (heldName); empty while it is not known. */
  readonly template: string;
  /** What it counts as in a row of refusals: the chunk that it is a part of. Default: the job itself. */
  readonly rowId?: string;
  readonly trouble?: TroubleHistory | undefined;
  /** Runs so far, this one included. Default 1. */
  readonly runs?: number;
  /** A chunk that is halved where one contact may be why it is rejected: that is not its end. */
  readonly isHalved?: boolean;
  /** It leaves the probe of a hold to others: sent at most once, it would end unknown. Default: false. */
  readonly leavesProbes?: boolean;
  /** Puts it back to waiting after it was rejected. */
  readonly takeBack: () => Promise<unknown>;
}

export interface Attempted {
  /** Undefined when nothing was sent, or only a request that was refused, and no notice is to blame. */
  readonly outcome: Outcome | undefined;
  readonly answer?: SendAnswer | undefined;
  /** Monotonic time before the last request. */
  readonly requestedAt?: number | undefined;
}

export interface Entered extends Passage {
  /** Whether another notice was accepted since the trouble of the job. Default: false. */
  readonly isContradicted?: boolean;
}

/** An outcome that may concern others than the notice. */
export type HoldOutcome = Extract<Outcome, { kind: 'hold' }>;

/** Statuses that suggest that one contact, or their number, made the service refuse a request. */
const CAUSED_BY_A_CONTACT: ReadonlySet<number> = new Set([400, 413, 422]);

/**
 * Whether one of the contacts, or their number, may have made the service reject a chunk as a whole: by the status, or
 * by the evidence (`own`). The service has taken nothing of the request, so its halves may be sent.
 */
export function mayBeOneContact(outcome: Outcome | undefined, status: number | undefined): boolean {
  if (outcome?.kind !== 'rejected') return false;
  return outcome.own === true || CAUSED_BY_A_CONTACT.has(status ?? 0);
}

/** What is taken back may still be under way. */
const TAKE_BACK_AGAIN_MS = 200;
const TAKE_BACK_TRIES = 25;

export async function untilDone(attempt: () => Promise<boolean>): Promise<void> {
  for (let tries = 1; tries < TAKE_BACK_TRIES && !(await attempt()); tries++) {
    await pause(TAKE_BACK_AGAIN_MS);
  }
}

/** A notice that met trouble for the first time, and no hold, comes again after this time. */
export const AGAIN_MS = 1_000;

/** So long an acceptance says that its template is in order, in milliseconds; of so many templates. */
const ACCEPTED_MS = 600_000;
const MOST_ACCEPTED = 1_000;

/** A chunk that is refused as a whole counts as so many notices: five hold their template. */
const WHOLE_CHUNK = 4;

/** A refused chunk that probes its template is halved in so many rounds, some ninety times; later ones leave the list as it is. */
const HALVING_ROUNDS = 8;

type Rejected = Extract<Outcome, { kind: 'rejected' }>;

/** What the gate of a worker decides with. */
export interface GateBasis {
  readonly holds: HoldGate;
  readonly histories: Pick<JobHistories, 'writeTrouble' | 'forgetTrouble'>;
  readonly log: Pick<AttemptLog, 'trouble'>;
  /** Redis time. */
  readonly now: () => number;
}

/** What follows from a trouble for its own job; remembers it. */
export async function judgeJob(
  { id, trouble: history }: GateJob,
  { isContradicted = false }: Entered,
  trouble: Trouble,
  isHeld: boolean,
  { histories, now }: GateBasis,
): Promise<TroubleVerdict> {
  const verdict = judgeTrouble(trouble, history, isContradicted, isHeld);
  if (verdict.kind === 'reject') await histories.forgetTrouble(id);
  else await histories.writeTrouble(id, withTrouble(trouble, history, isContradicted, now()));
  return verdict;
}

/**
 * Rejections, refusals and pages, which concern one notice, or all of its template: then the template is held
 * (src/fleet/hold), and what was rejected in the row goes back to waiting.
 */
export class TemplateRefusals {
  readonly #basis: GateBasis;
  readonly #templates = new TemplateRows();
  /** Under which name notices of a template were last accepted, and when (monotonic). */
  readonly #accepted = new Map<string, { readonly name: string; readonly at: number }>();

  constructor(basis: GateBasis) {
    this.#basis = basis;
  }

  accepted(name: string): void {
    this.#templates.accepted(name);
    if (this.#accepted.size >= MOST_ACCEPTED) this.#accepted.clear();
    this.#accepted.set(heldTemplate(name), { name, at: performance.now() });
  }

  /**
   * Whether notices of the same template with other sender keys go: then a refusal is about these keys, and a hold does
   * not excuse its notices.
   */
  #isOfSender(name: string): boolean {
    const last = this.#accepted.get(heldTemplate(name));
    return last !== undefined && last.name !== name && performance.now() - last.at < ACCEPTED_MS;
  }

  /** Another process has held a template: those which this one rejected in the row go back, too. */
  templateHeld({ name, code }: NamedHold): void {
    this.#takeBack(this.#templates.take(name, code), code);
  }

  /** A rejection is the end of its notice, unless its template is held, from now on or since before. */
  async rejected(
    job: GateJob,
    entered: Entered,
    outcome: Rejected,
    answer: SendAnswer | undefined,
  ): Promise<Outcome> {
    const { holds } = this.#basis;
    const { id, template, takeBack } = job;
    const { code } = outcome;
    const isHalved = job.isHalved === true && mayBeOneContact(outcome, answer?.status);
    if (!holds.isTemplateHeld(template)) {
      const row = this.#note(job, outcome, answer, isHalved ? undefined : takeBack);
      if (row === undefined) return outcome;
      await this.#hold(
        template,
        'template',
        code,
        row.filter((one) => one.job !== id),
      );
    }
    // Smaller parts of a list may be accepted.
    if (isHalved) return outcome;
    await judgeJob(job, entered, { hold: 'template', code }, true, this.#basis);
    const behindMs = holds.behindMs(template);
    return { kind: 'hold', hold: 'template', code, scope: 'template', behindMs };
  }

  async refused(
    job: GateJob,
    entered: Entered,
    outcome: HoldOutcome,
    answer: SendAnswer | undefined,
  ): Promise<Outcome> {
    const { holds } = this.#basis;
    const { template } = job;
    const { hold, code, rejectAfter } = outcome;
    await holds.answered(entered, 'inconclusive');
    const tokenId = hold === 'credentials' ? answer?.tokenId : undefined;
    const wasHeld = holds.isTemplateHeld(template);
    const isOfSender = this.#isOfSender(template);
    const verdict = await judgeJob(
      job,
      entered,
      { hold, code, tokenId, rejectAfter },
      wasHeld && !isOfSender,
      this.#basis,
    );
    const waits = () => ({ ...outcome, behindMs: holds.behindMs(template) });
    if (wasHeld && job.isHalved === true) {
      const { round = Infinity } = entered.probesTemplate ?? {};
      // Where each chunk has a contact that is refused, only their smaller parts are accepted.
      const isSplit = round <= HALVING_ROUNDS && !isOfSender;
      return isSplit ? { kind: 'rejected', code, own: true } : waits();
    }
    if (verdict.kind === 'reject') return { kind: 'rejected', code, own: true };
    if (!wasHeld) {
      const row = this.#note(job, outcome, answer);
      if (row !== undefined) await this.#hold(template, hold, code, row);
    }
    if (holds.isTemplateHeld(template)) return waits();
    if (!verdict.counted) return { ...outcome, behindMs: AGAIN_MS };
    return { kind: 'retry', code, counted: true, backoff: verdict.backoff };
  }

  #note(
    { template, id, rowId = id, isHalved: isChunk = false }: GateJob,
    outcome: HoldOutcome | Rejected,
    answer: SendAnswer | undefined,
    takeBack?: Refused['takeBack'],
  ): readonly Refused[] | undefined {
    // Of a chunk: none of its contacts is the cause.
    const weight = isChunk && !mayBeOneContact(outcome, answer?.status) ? WHOLE_CHUNK : 1;
    const refused = { job: id, at: this.#basis.now(), weight, takeBack };
    return this.#templates.note(
      template,
      rowId,
      `${answer?.status ?? ''} ${outcome.code}`,
      refused,
    );
  }

  /** Holds a template; what this process rejected in the row goes back to waiting. */
  async #hold(
    template: string,
    kind: HoldOutcome['hold'],
    code: string,
    row: readonly Refused[],
  ): Promise<void> {
    await this.#basis.holds.holdTemplate(template, kind, code);
    this.#takeBack(row, code);
  }

  /** Their ends may still be under way, so nothing waits for it. */
  #takeBack(row: readonly Refused[], code: string): void {
    const { histories, log } = this.#basis;
    for (const { job, at, takeBack } of row) {
      if (takeBack === undefined) continue;
      const history = withTrouble({ code }, undefined, false, at);
      takeBack()
        .then(() => histories.writeTrouble(job, history))
        .catch((error: unknown) => log.trouble('take-back', error));
    }
  }
}
