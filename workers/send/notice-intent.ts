import { randomBytes } from 'node:crypto';
import type { Job } from 'bullmq';
import { settleWithRetry } from '../../src/async/repeat.ts';
import type { JobData } from '../../src/contracts/job.ts';
import type { Outcome, PossibleSends } from '../../src/contracts/outcome.ts';
import type { Intents, IntentVerdict, UnknownFacts } from '../../src/fleet/intents/intents.ts';
import type { AttemptLog } from './attempt-log.ts';
import type { SendAnswer } from '../../src/service/send-call.ts';

/** The delivery policy in one run of a notice's job. */
export interface NoticeIntent {
  readonly job: string;
  readonly data: JobData;
  /** Names the attempt; empty for at-least-once. */
  readonly nonce: string;
  /** The worker's token for the lock of the job. */
  readonly lockToken: string;
  /** No attempt is left after this one. */
  readonly lastAttempt: boolean;
  /** At-least-once: how many earlier attempts the service may have accepted. */
  readonly possiblySent: number;
  /** At-least-once: the trace ids of the service for those of them that it answered, oldest first. */
  readonly traceIds: readonly string[];
  /** UNKNOWN_RESENDS */
  readonly mostResends: number;
  /** Its contacts are counted as possibly sent twice in this run. */
  countedTwice: boolean;
  /** `asked` while there is no answer; undefined until asked for, and for at-least-once. */
  verdict: IntentVerdict | 'asked' | undefined;
}

const NOTHING_SENT: PossibleSends = { possiblySent: 0, traceIds: [] };

/** The delivery policy of a job that was just fetched. @param mostResends UNKNOWN_RESENDS @param sends in earlier runs */
export function noticeIntent(
  job: Job,
  data: JobData,
  lockToken: string | undefined,
  mostResends: number,
  sends: PossibleSends = NOTHING_SENT,
): NoticeIntent {
  // Attempts of at-most-once notices are counted by their intents.
  const { possiblySent, traceIds } = data.delivery === undefined ? sends : NOTHING_SENT;
  return {
    job: job.id ?? '',
    data,
    nonce: data.delivery === undefined ? '' : randomBytes(12).toString('base64url'),
    lockToken: lockToken ?? '',
    lastAttempt: job.attemptsMade + 1 >= (job.opts.attempts ?? 1),
    possiblySent,
    traceIds,
    countedTwice: false,
    mostResends,
    verdict: undefined,
  };
}

/**
 * What is known of an at-least-once notice after an attempt.
 *
 * | possibly sent before | outcome of this attempt | attempts left | known |
 * |---|---|---|---|
 * | UNKNOWN_RESENDS times | unknown | any | unknown, and no attempt follows |
 * | fewer times | unknown | any | the same |
 * | never | any other | any | the same |
 * | at least once | rejected | any | unknown, and no attempt follows |
 * | at least once | expired | any | unknown, and no attempt follows |
 * | at least once | retry, counted | none | unknown, and no attempt follows |
 * | at least once | any other | any | the same |
 */
export function knownAfter(
  outcome: Outcome | undefined,
  {
    possiblySent,
    mostResends,
    lastAttempt,
  }: Pick<NoticeIntent, 'possiblySent' | 'mostResends' | 'lastAttempt'>,
): Outcome | undefined {
  if (outcome?.kind === 'unknown') {
    return possiblySent >= mostResends ? { ...outcome, final: true } : outcome;
  }
  if (possiblySent === 0) return outcome;
  switch (outcome?.kind) {
    case 'rejected':
      return unknownEarlier(outcome.code);
    case 'expired':
      return unknownEarlier('OUTCOME_UNKNOWN');
    case 'retry':
      return outcome.counted && lastAttempt ? unknownEarlier(outcome.code) : outcome;
    case undefined:
    case 'accepted':
    case 'hold':
    case 'cancelled':
      return outcome;
  }
}

/** The outcome of a notice that an earlier attempt may have sent, and that this one did not. */
export const unknownEarlier = (code: string): Outcome => ({
  kind: 'unknown',
  code,
  final: true,
  earlier: true,
});

/** Whether a notice was possibly sent as often as it may be: no request follows. */
function isUsedUp({ possiblySent, mostResends }: NoticeIntent): boolean {
  return possiblySent > mostResends;
}

/** How an intent is ended after an attempt. */
export type IntentEnd = 'nothing' | 'back' | 'accepted' | 'own' | 'any' | 'none';

/**
 * How an attempt ends for the delivery policy: the intent is ended (`back`, `accepted`), or the notice is
 * listed as unknown and replaces its `own` intent, `any` intent, or `none`.
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

/** What recording intents needs. */
export interface IntentContext {
  readonly intents: Pick<Intents, 'begin' | 'end' | 'park'>;
  readonly log: AttemptLog;
  /** Id of the worker process. */
  readonly worker: string;
  /** KEEP_FAILED_MS */
  readonly keepFailedMs: number;
  /** Counts contacts of single notices that are sent again after an unknown outcome. */
  readonly countTwice: (contacts: number) => Promise<void>;
  /** Takes that back. */
  readonly uncountTwice: (contacts: number) => Promise<void>;
}

/** Whether the intent does not forbid a request. */
export function maySend(intent: NoticeIntent): boolean {
  const { verdict } = intent;
  return (verdict === undefined || verdict === 'send') && !isUsedUp(intent);
}

/** The outcome of an earlier attempt, where it is the reason why this one makes no request. */
export function earlierOutcome(intent: NoticeIntent): Outcome | undefined {
  if (isUsedUp(intent)) return unknownEarlier('OUTCOME_UNKNOWN');
  const { verdict } = intent;
  if (verdict === 'accepted') return { kind: 'accepted', confirmed: true };
  if (verdict === 'unknown') return { kind: 'unknown', code: 'OUTCOME_UNKNOWN' };
  return undefined;
}

/** What is recorded right before each request of a notice; undefined where nothing is. */
export function intentRecorder(
  intent: NoticeIntent,
  context: IntentContext,
): (() => Promise<boolean>) | undefined {
  if (intent.data.delivery !== undefined) return () => beginIntent(intent, context);
  return intent.possiblySent > 0 ? () => countSentAgain(intent, context) : undefined;
}

/**
 * Records the intent of an at-most-once notice, once per run: a request after a refused token belongs to the
 * same attempt.
 *
 * @returns whether a request may be made
 */
export async function beginIntent(
  intent: NoticeIntent,
  { intents, worker, log }: IntentContext,
): Promise<boolean> {
  if (intent.verdict === undefined) {
    // From here on it may be recorded, even if no answer comes.
    intent.verdict = 'asked';
    try {
      [intent.verdict = 'asked'] = await intents.begin([intent], worker);
    } catch (error) {
      log.trouble('intent', error);
    }
  }
  return maySend(intent);
}

/**
 * Counts a notice that was possibly sent before, right before its request and once per run.
 *
 * @returns false where Redis did not record it: the request must not be made
 */
export async function countSentAgain(
  intent: NoticeIntent,
  { countTwice, log }: IntentContext,
): Promise<boolean> {
  if (intent.countedTwice) return true;
  try {
    await countTwice(intent.data.notice.contacts.length);
  } catch (error) {
    log.trouble('possibly-sent-twice', error);
    return false;
  }
  intent.countedTwice = true;
  return true;
}

/** Takes back the count of a notice of whose request the service provably accepted nothing. */
export async function uncountSentAgain(
  intent: NoticeIntent,
  outcome: Outcome | undefined,
  { uncountTwice, log }: IntentContext,
): Promise<void> {
  if (!intent.countedTwice || outcome?.kind === 'accepted' || outcome?.kind === 'unknown') return;
  intent.countedTwice = false;
  // Without an answer they stay counted: the count must never be too low.
  await uncountTwice(intent.data.notice.contacts.length).catch((error: unknown) =>
    log.trouble('possibly-sent-twice', error),
  );
}

/** An attempt at a notice whose outcome is known. */
export interface EndedAttempt {
  /** Undefined when nothing was sent and no notice is to blame. */
  readonly outcome: Outcome | undefined;
  readonly answer?: SendAnswer | undefined;
  /** How many contacts the outcome is about. Default: all of the run. */
  readonly contacts?: number | undefined;
  /** What the service may have accepted of these. Default: what it may have accepted of the notice. */
  readonly sends?: PossibleSends | undefined;
}

/** Ends an intent; repeated until Redis has answered. */
export async function endIntent(
  intent: NoticeIntent,
  ended: EndedAttempt,
  { intents, keepFailedMs, log }: IntentContext,
): Promise<void> {
  const { data, verdict, lastAttempt } = intent;
  const end = intentEnd(data.delivery, verdict, ended.outcome, lastAttempt);
  if (end === 'nothing') return;
  const attempts = [{ ...intent, facts: factsOf(intent, ended) }];
  // A program error is logged; the job ends by its outcome all the same.
  await settleWithRetry<unknown>(
    () =>
      end === 'back' || end === 'accepted'
        ? intents.end(attempts, end)
        : intents.park(attempts, end, keepFailedMs),
    (error) => log.trouble('intent', error),
  ).catch(() => {});
}

function factsOf(
  intent: NoticeIntent,
  { outcome, answer, contacts, sends }: EndedAttempt,
): UnknownFacts {
  const { notice, delivery = 'at-least-once' } = intent.data;
  const isOwn = outcome?.kind === 'unknown' && outcome.earlier !== true;
  const own = intent.possiblySent + (isOwn || intent.possiblySent === 0 ? 1 : 0);
  // Without any of these contacts, the last request says nothing about them.
  const isOfOthers = sends !== undefined && !isOwn;
  const last = isOfOthers ? sends.traceIds.at(-1) : answer?.traceId;
  const ids = sends?.traceIds ?? intent.traceIds;
  const earlier = ids.filter((traceId) => traceId !== last);
  const answered = last === undefined ? 'begun' : 'answered';
  const stage = isOfOthers ? answered : answer?.stage;
  return {
    template: notice.templateCode,
    contacts: contacts ?? notice.contacts.length,
    code: outcome?.kind === 'unknown' ? outcome.code : 'OUTCOME_UNKNOWN',
    stage: stage === 'sent' || stage === 'answered' ? stage : 'begun',
    delivery,
    possiblySent: sends?.possiblySent ?? own,
    traceId: last,
    ...(earlier.length > 0 ? { earlierTraceIds: earlier } : {}),
  };
}
