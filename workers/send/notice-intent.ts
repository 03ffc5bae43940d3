import { randomBytes } from 'node:crypto';
import type { Job } from 'bullmq';
import type { JobData } from '../../src/contracts/job.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import type { Intents, IntentVerdict, UnknownFacts } from '../../src/fleet/intents/intents.ts';
import type { SendAnswer } from '../../src/service/response/send-answer.ts';
import type { AttemptLog } from './attempt-log.ts';
import { isPossiblySent } from './possibly-sent.ts';
import { settleWithRetry } from '../../src/async/settle-with-retry.ts';

/** What the delivery policy of single notices needs. */
export interface IntentContext {
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
 * | at-least-once | never asked | unknown, with no attempts left or final | none |
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
    const isLast = outcome?.kind === 'unknown' && (lastAttempt || outcome.final === true);
    return isLast ? 'none' : 'nothing';
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
export interface NoticeIntent {
  readonly job: string;
  readonly data: JobData;
  /** Names the attempt; empty at-least-once. */
  readonly nonce: string;
  /** The worker's token for the lock of the job. */
  readonly lockToken: string;
  /** No attempt is left after this one. */
  readonly lastAttempt: boolean;
  /** At-least-once: an earlier attempt may have been taken (possibly-sent.ts). */
  readonly possiblySent: boolean;
  /** `asked` while no answer has come; undefined until asked for, and at-least-once. */
  verdict: IntentVerdict | 'asked' | undefined;
}

export function noticeIntent(job: Job, data: JobData, lockToken: string | undefined): NoticeIntent {
  return {
    job: job.id ?? '',
    data,
    nonce: data.delivery === undefined ? '' : randomBytes(12).toString('base64url'),
    lockToken: lockToken ?? '',
    lastAttempt: job.attemptsMade + 1 >= (job.opts.attempts ?? 1),
    possiblySent: data.delivery === undefined && isPossiblySent(job),
    verdict: undefined,
  };
}

/** Whether nothing that is known so far forbids a request. */
export function maySend({ verdict }: NoticeIntent): boolean {
  return verdict === undefined || verdict === 'send';
}

/** The outcome that an earlier attempt has left, where that is why this one makes no request. */
export function earlierOutcome({ verdict }: NoticeIntent): Outcome | undefined {
  if (verdict === 'accepted') return { kind: 'accepted', confirmed: true };
  if (verdict === 'unknown') return { kind: 'unknown', code: 'OUTCOME_UNKNOWN' };
  return undefined;
}

/**
 * Records the intents of the notices of one request, in one round trip. Each is asked for once in a
 * run: a request that follows a refused token, or the refusal of a whole group, is of the same attempt.
 *
 * @returns whether a request with all of them may be made
 */
export async function beginIntents(
  all: readonly NoticeIntent[],
  { intents, worker, log }: IntentContext,
): Promise<boolean> {
  const due = all.filter(({ verdict }) => verdict === undefined);
  if (due.length > 0) {
    // From here on they may be recorded, also when no answer comes.
    for (const intent of due) intent.verdict = 'asked';
    try {
      const verdicts = await intents.begin(due, worker);
      for (const [index, intent] of due.entries()) intent.verdict = verdicts[index] ?? 'asked';
    } catch (error) {
      log.trouble('intent', error);
    }
  }
  return all.every(maySend);
}

/** A notice's attempt whose end is known. */
export interface EndedAttempt {
  readonly intent: NoticeIntent;
  /** Undefined when nothing was sent and nobody is to blame. */
  readonly outcome: Outcome | undefined;
  readonly answer: SendAnswer | undefined;
}

/**
 * Ends attempts for the policy, in one round trip for each kind of end; tried again until Redis has
 * heard it.
 */
export async function endIntents(
  ended: readonly EndedAttempt[],
  { intents, keepFailedMs, log }: IntentContext,
): Promise<void> {
  const byEnd = new Map<Exclude<IntentEnd, 'nothing'>, EndedAttempt[]>();
  for (const attempt of ended) {
    const { intent, outcome } = attempt;
    const end = intentEnd(intent.data.delivery, intent.verdict, outcome, intent.lastAttempt);
    if (end === 'nothing') continue;
    const some = byEnd.get(end);
    if (some === undefined) byEnd.set(end, [attempt]);
    else some.push(attempt);
  }
  const told = [...byEnd].map(([end, some]) => {
    const attempts = some.map((attempt) => ({ ...attempt.intent, facts: factsOf(attempt) }));
    return settleWithRetry(
      () =>
        end === 'back' || end === 'accepted'
          ? intents.end(attempts, end)
          : intents.park(attempts, end, keepFailedMs),
      (error) => log.trouble('intent', error),
    );
  });
  await Promise.all(told);
}

function factsOf({ intent, outcome, answer }: EndedAttempt): UnknownFacts {
  const { notice, delivery = 'at-least-once' } = intent.data;
  const stage = answer?.stage;
  return {
    template: notice.templateCode,
    contacts: notice.contacts.length,
    code: outcome?.kind === 'unknown' ? outcome.code : 'OUTCOME_UNKNOWN',
    stage: stage === 'sent' || stage === 'answered' ? stage : 'begun',
    delivery,
  };
}
