import { randomBytes } from 'node:crypto';
import type { Job } from 'bullmq';
import type { JobData } from '../src/contracts/job.ts';
import type { Outcome } from '../src/contracts/outcome.ts';
import type { IntentAttempt, Intents, IntentVerdict, UnknownFacts } from '../src/queue/intents.ts';
import type { SendAnswer } from '../src/service/send-answer.ts';
import type { AttemptLog } from './attempt-log.ts';
import { settleUntilHeard } from './settle-until-heard.ts';

/** What the delivery policy of single notices needs. */
export interface IntentParts {
  readonly intents: Pick<Intents, 'begin' | 'end' | 'park'>;
  readonly log: AttemptLog;
  /** Id of the worker process. */
  readonly worker: string;
  readonly keepFailedMs: number;
}

/** What is told of an intent at the end of an attempt. */
export type IntentEnd = 'nothing' | 'back' | 'accepted' | 'own' | 'any' | 'none';

/**
 * How an attempt ends for the delivery policy: the intent is ended (`back`, `accepted`), or the notice
 * is listed as unknown in place of its `own` intent, of `any`, or of `none`.
 *
 * | delivery | verdict | outcome | end |
 * |---|---|---|---|
 * | at-least-once | never asked | unknown, with no attempts left | none |
 * | at-least-once | never asked | any other | nothing |
 * | at-most-once | never asked, lost | any | nothing |
 * | at-most-once | accepted | accepted, by the earlier attempt | nothing |
 * | at-most-once | unknown | unknown, by the earlier attempt | any |
 * | at-most-once | send, or asked without an answer | accepted | accepted |
 * | at-most-once | send, or asked without an answer | unknown | own |
 * | at-most-once | send, or asked without an answer | any other, not started | back |
 *
 * @param verdict undefined where it was never asked for
 */
export function intentEnd(
  delivery: JobData['delivery'],
  verdict: IntentVerdict | 'asked' | undefined,
  outcome: Outcome | undefined,
  lastAttempt: boolean,
): IntentEnd {
  if (delivery === undefined) {
    return outcome?.kind === 'unknown' && lastAttempt ? 'none' : 'nothing';
  }
  switch (verdict) {
    case undefined:
    case 'lost':
    case 'accepted':
      return 'nothing';
    case 'unknown':
      return 'any';
    case 'asked':
    case 'send':
      if (outcome?.kind === 'accepted') return 'accepted';
      return outcome?.kind === 'unknown' ? 'own' : 'back';
  }
}

/** The delivery policy in one run of a notice's job. */
export class NoticeIntent {
  readonly #data: JobData;
  readonly #attempt: IntentAttempt;
  readonly #lockToken: string;
  readonly #lastAttempt: boolean;
  readonly #parts: IntentParts;
  #verdict: IntentVerdict | 'asked' | undefined;

  constructor(job: Job, data: JobData, lockToken: string | undefined, parts: IntentParts) {
    this.#data = data;
    this.#attempt = { job: job.id ?? '', nonce: randomBytes(12).toString('base64url') };
    this.#lockToken = lockToken ?? '';
    this.#lastAttempt = job.attemptsMade + 1 >= (job.opts.attempts ?? 1);
    this.#parts = parts;
  }

  get atMostOnce(): boolean {
    return this.#data.delivery === 'at-most-once';
  }

  /**
   * Records the intent, once in a run: a request that follows a refused token is of the same attempt.
   *
   * @returns whether a request may be made
   */
  async begin(): Promise<boolean> {
    if (this.#verdict === undefined) {
      // From here on it may be recorded, also when no answer comes.
      this.#verdict = 'asked';
      const { intents, worker, log } = this.#parts;
      try {
        this.#verdict = await intents.begin(this.#attempt, this.#lockToken, worker);
      } catch (error) {
        log.trouble('intent', error);
      }
    }
    return this.#verdict === 'send';
  }

  /** The outcome that an earlier attempt has left, where that is why this one made no request. */
  get earlier(): Outcome | undefined {
    if (this.#verdict === 'accepted') return { kind: 'accepted', confirmed: true };
    if (this.#verdict === 'unknown') return { kind: 'unknown', code: 'OUTCOME_UNKNOWN' };
    return undefined;
  }

  /** Ends the attempt for the policy; tried again until Redis has heard it. */
  async end(outcome: Outcome | undefined, answer: SendAnswer | undefined): Promise<void> {
    const { delivery } = this.#data;
    const end = intentEnd(delivery, this.#verdict, outcome, this.#lastAttempt);
    if (end === 'nothing') return;
    const { intents, keepFailedMs, log } = this.#parts;
    const attempt = this.#attempt;
    await settleUntilHeard(
      () =>
        end === 'back' || end === 'accepted'
          ? intents.end(attempt, end)
          : intents.park(attempt, end, this.#facts(outcome, answer), keepFailedMs),
      (error) => log.trouble('intent', error),
    );
  }

  #facts(outcome: Outcome | undefined, answer: SendAnswer | undefined): UnknownFacts {
    const { notice, delivery = 'at-least-once' } = this.#data;
    const stage = answer?.stage;
    return {
      template: notice.templateCode,
      contacts: notice.contacts.length,
      code: outcome?.kind === 'unknown' ? outcome.code : 'OUTCOME_UNKNOWN',
      stage: stage === 'sent' || stage === 'answered' ? stage : 'begun',
      delivery,
    };
  }
}
