import { randomBytes } from 'node:crypto';
import type { Job } from 'bullmq';
import { settleWithRetry } from '../../src/async/repeat.ts';
import type { EarlierRuns, JobData } from '../../src/contracts/job.ts';
import type { Outcome, PossibleSends } from '../../src/contracts/outcome.ts';
import type { IntentVerdict, JobHistories } from '../../src/fleet/job-history.ts';
import type { AttemptLog } from './attempt-log.ts';

/** One run of a notice's job, and the delivery policy in it. */
export interface NoticeIntent {
  readonly job: string;
  readonly data: JobData;
  /** Names the attempt; empty for at-least-once. */
  readonly nonce: string;
  readonly lockToken: string;
  /** No attempt is left after this one. */
  readonly lastAttempt: boolean;
  /** At-least-once: how many earlier attempts of this run of the notice the service may have accepted. */
  readonly possiblySent: number;
  /** At-least-once: the trace ids of the service for those of them that it answered, oldest first. */
  readonly traceIds: readonly string[];
  readonly unknownAttempts?: PossibleSends['unknownAttempts'];
  /** What the service may have accepted before a person sent it again. */
  readonly before: EarlierRuns;
  readonly mostResends: number;
  countedTwice: boolean;
  /** Contacts that this run left out of its request: they are on the do-not-send list. */
  suppressed: number;
  /** `asked` while there is no answer; undefined until asked for, and for at-least-once. */
  verdict: IntentVerdict | 'asked' | undefined;
}

const NOTHING_SENT: PossibleSends = { possiblySent: 0, traceIds: [] };

/** A job that was just fetched. @param mostResends UNKNOWN_RESENDS @param sends in earlier runs */
export function noticeIntent(
  job: Job,
  data: JobData,
  mostResends: number,
  sends: PossibleSends,
): NoticeIntent {
  const isOnce = data.delivery !== undefined;
  return {
    job: job.id ?? '',
    data,
    nonce: isOnce ? randomBytes(12).toString('base64url') : '',
    lockToken: job.token ?? '',
    lastAttempt: job.attemptsMade + 1 >= (job.opts.attempts ?? 1),
    // Attempts of at-most-once notices are counted by their intents.
    ...(isOnce ? NOTHING_SENT : sends),
    before: data.earlier ?? NOTHING_SENT,
    countedTwice: false,
    suppressed: 0,
    mostResends,
    verdict: undefined,
  };
}

/**
 * What is known of a notice after an attempt. Attempts before a person sent it again count as possibly sent, too, but not
 * as resends.
 *
 * | possibly sent before | outcome of this attempt | attempts left | known |
 * |---|---|---|---|
 * | UNKNOWN_RESENDS times | unknown | any | unknown, and no attempt follows |
 * | fewer times | unknown | any | the same |
 * | never | any other | any | the same |
 * | at least once | rejected, expired | any | unknown, and no attempt follows |
 * | at least once | retry, counted | none | unknown, and no attempt follows |
 * | at least once | any other, such as suppressed | any | the same |
 */
export function knownAfter(
  outcome: Outcome | undefined,
  {
    possiblySent,
    before,
    mostResends,
    lastAttempt,
  }: Pick<NoticeIntent, 'possiblySent' | 'before' | 'mostResends' | 'lastAttempt'>,
): Outcome | undefined {
  if (outcome?.kind === 'unknown') {
    return possiblySent >= mostResends ? { ...outcome, final: true } : outcome;
  }
  if (possiblySent + before.possiblySent === 0) return outcome;
  if (outcome?.kind === 'expired') return unknownEarlier('OUTCOME_UNKNOWN');
  const isEnd =
    outcome?.kind === 'rejected' || (outcome?.kind === 'retry' && outcome.counted && lastAttempt);
  return isEnd ? unknownEarlier(outcome.code) : outcome;
}

/** The outcome of a notice that an earlier attempt may have sent, and that this one did not. */
export const unknownEarlier = (code: string): Outcome => ({
  kind: 'unknown',
  code,
  final: true,
  earlier: true,
});

/** How many contacts a request of this run has. */
export const contactsSent = ({ data, suppressed }: NoticeIntent): number =>
  data.notice.contacts.length - suppressed;

/** Whether a notice was possibly sent as often as it may be: no request follows. */
const isUsedUp = ({ possiblySent, mostResends }: NoticeIntent) => possiblySent > mostResends;

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

/**
 * What becomes of a notice without a request; undefined where it is requeued. A process that was stopped for longer than a
 * lock lasts knows only of the attempts before its own: another worker may have had the job since then. So an
 * at-least-once notice ends here only with the lock as evidence.
 */
export function outcomeUnsent(
  intent: NoticeIntent,
  isLocked: boolean,
  isLate: boolean,
): Outcome | undefined {
  const isAtLeastOnce = intent.data.delivery === undefined;
  if (isAtLeastOnce && !isLocked) return undefined;
  const earlier = earlierOutcome(intent);
  if (earlier !== undefined || !isLate) return earlier;
  const neverStarted = isAtLeastOnce || intent.verdict === 'send';
  return neverStarted ? knownAfter({ kind: 'expired' }, intent) : undefined;
}

export interface IntentContext {
  readonly histories: Pick<JobHistories, 'beginIntent' | 'endIntent' | 'hasOpenIntent'>;
  readonly log: AttemptLog;
  readonly worker: string;
  /** Counts contacts of single notices that are sent again after an unknown outcome. */
  readonly countTwice: (contacts: number) => Promise<void>;
  readonly uncountTwice: (contacts: number) => Promise<void>;
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
 * @returns whether a request may be made
 */
export async function beginIntent(
  intent: NoticeIntent,
  { histories, worker, log }: IntentContext,
): Promise<boolean> {
  if (intent.verdict === undefined) {
    // From here on it may be recorded, even if no answer comes.
    intent.verdict = 'asked';
    try {
      intent.verdict = await histories.beginIntent(intent, intent.lockToken, worker);
    } catch (error) {
      log.trouble('intent', error);
    }
  }
  return maySend(intent);
}

/**
 * Counts a notice that was possibly sent before, right before its request and once per run.
 * @returns false where Redis did not record it: the request must not be made
 */
async function countSentAgain(
  intent: NoticeIntent,
  { countTwice, log }: IntentContext,
): Promise<boolean> {
  if (intent.countedTwice) return true;
  try {
    await countTwice(contactsSent(intent));
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
  await uncountTwice(contactsSent(intent)).catch((error: unknown) =>
    log.trouble('possibly-sent-twice', error),
  );
}

/**
 * Ends the intent of an at-most-once notice that is accepted or waits again, where this run may have recorded it; repeated
 * until Redis has answered. That of a notice that ends otherwise is removed with the record of its end.
 */
export async function endIntent(
  intent: NoticeIntent,
  outcome: Outcome | undefined,
  { histories, log }: IntentContext,
): Promise<void> {
  if (intent.verdict !== 'asked' && intent.verdict !== 'send') return;
  // A program error is logged; the job ends by its outcome all the same.
  await settleWithRetry(
    () => histories.endIntent(intent, outcome?.kind === 'accepted' ? 'accepted' : 'back'),
    (error) => log.trouble('intent', error),
  ).catch(() => {});
}
