import type { DeliveryPolicy } from './delivery.ts';

/*
 * Once possibly sent, always possibly sent until accepted: a later rejection, a deadline that passes or
 * attempts that run out prove nothing about the earlier request.
 *
 * BullMQ keeps both counts with the job at no extra command: the deaths of its workers, and the reason of
 * its last failed attempt, which ends in the trace ids of the service for the attempts that ended unknown, and a
 * mark with their number.
 *
 * The rest of the reason is the service's own text. Where it contains what a mark or trace ids begin with, the
 * parenthesis is stored as a bracket: only what is written here is read back.
 */

/** The fields of a BullMQ job that tell how often it was possibly sent. */
export interface AttemptedJob {
  readonly failedReason?: string | null | undefined;
  /** How often its worker died or lost its lock. */
  readonly stalledCounter?: number | undefined;
}

const MARK = /\(may have been taken: (\d{1,6})\)$/;

/** Right before the mark. */
const TRACE_IDS = /\(trace ids ([^()]{1,1500})\)$/;

/** What the mark and the trace ids begin with. */
const BEGINNINGS = /\((?=may have been taken|trace ids )/g;

/** The newest trace ids that are kept, of 128 characters each at most: a reason stays short. */
const MOST_TRACE_IDS = 10;

/** What the service may have accepted without an answer that proves it. */
export interface PossibleSends {
  /** How many attempts. */
  readonly possiblySent: number;
  /** Its trace ids for those of them that it answered, oldest first. */
  readonly traceIds: readonly string[];
}

/** The trace ids that are kept of one run. @param traceIds oldest first */
export const newestTraceIds = (traceIds: readonly string[]): readonly string[] =>
  traceIds.slice(-MOST_TRACE_IDS);

/** The same of several unknown contacts, each of which was in some of the requests. Without a count it was in one. */
export function sendsOfAll(contacts: readonly Partial<PossibleSends>[]): PossibleSends {
  return {
    possiblySent: Math.max(...contacts.map(({ possiblySent = 1 }) => possiblySent)),
    traceIds: newestTraceIds([...new Set(contacts.flatMap(({ traceIds = [] }) => traceIds))]),
  };
}

/** How many attempts of a job ended unknown, by its mark. Attempts whose worker died are not among them. */
export function attemptsEndedUnknown({ failedReason }: AttemptedJob): number {
  const found = MARK.exec(failedReason ?? '');
  return found === null ? 0 : Number(found[1]);
}

/**
 * How many attempts of a job the service may have accepted: they ended unknown, or their worker died; 0 where none
 * was possibly sent. Deaths of the workers of at-most-once notices do not count: their intents tell.
 */
export function possiblySentAttempts(job: AttemptedJob, delivery?: DeliveryPolicy): number {
  const stalls = delivery === 'at-most-once' ? 0 : (job.stalledCounter ?? 0);
  return attemptsEndedUnknown(job) + stalls;
}

/** The trace ids of the service for the attempts of a job that ended unknown, oldest first; the newest ten. */
export function possiblySentTraceIds({ failedReason }: AttemptedJob): readonly string[] {
  const text = failedReason ?? '';
  if (!MARK.test(text)) return [];
  const [, ids = ''] = TRACE_IDS.exec(withoutMark(text)) ?? [];
  return ids === '' ? [] : ids.split(' ');
}

/**
 * The reason to store with a failed attempt.
 *
 * @param detail status and message of the service
 * @param endedUnknown how many attempts did, this one included
 * @param traceIds of the service for these attempts, oldest first
 */
export function withPossiblySentMark(
  detail: string,
  endedUnknown: number,
  traceIds: readonly string[] = [],
): string {
  const own = detail.replace(BEGINNINGS, '[');
  if (endedUnknown === 0) return own;
  const newest = newestTraceIds(traceIds).join(' ');
  const ids = newest === '' ? '' : `(trace ids ${newest})`;
  const mark = `(may have been taken: ${endedUnknown})`;
  return [own, ids, mark].filter((part) => part !== '').join(' ');
}

/**
 * The message of a failure of a batch, with the trace ids of the service for the attempts that may have been
 * accepted: a person has to find out there what became of them.
 *
 * @param detail status and message of the service
 * @param traceIds oldest first; the newest ten are kept
 */
export function withTraceIds(detail: string, traceIds: readonly string[]): string {
  const newest = newestTraceIds(traceIds);
  if (newest.length === 0) return detail;
  const ids = `(trace id${newest.length === 1 ? '' : 's'} ${newest.join(' ')})`;
  return detail === '' ? ids : `${detail} ${ids}`;
}

/** The trace ids of the service for a notice, oldest first: each names an attempt there. */
export function traceIdsOf({
  earlierTraceIds = [],
  traceId,
}: {
  readonly earlierTraceIds?: readonly string[] | undefined;
  readonly traceId?: string | undefined;
}): string[] {
  return [...earlierTraceIds, ...(traceId === undefined ? [] : [traceId])];
}

const withoutMark = (text: string): string => text.replace(MARK, '').trimEnd();

/** Code and message of a failed attempt, from the reason that is stored with the job, without the mark. */
export function failureOf(failedReason: string | undefined): {
  readonly code: string;
  readonly message: string;
} {
  const reason = failedReason ?? '';
  const text = (MARK.test(reason) ? withoutMark(reason).replace(TRACE_IDS, '') : reason).trim();
  const colon = text.indexOf(':');
  if (colon === -1) return { code: text, message: '' };
  return { code: text.slice(0, colon), message: text.slice(colon + 1).trim() };
}
