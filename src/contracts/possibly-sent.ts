/*
 * Once possibly sent, always possibly sent until accepted: a later rejection, a deadline that passes or
 * attempts that run out prove nothing about the earlier request. While the job lives, its history tells
 * (src/fleet/job-history.ts), and how often its worker died; then the record of its end.
 */

/** The newest trace ids that are kept, of 128 characters each at most. */
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

/** Code and message of a failed attempt, from the reason that is stored with the job. */
export function failureOf(failedReason: string | undefined): {
  readonly code: string;
  readonly message: string;
} {
  const text = (failedReason ?? '').trim();
  const colon = text.indexOf(':');
  if (colon === -1) return { code: text, message: '' };
  return { code: text.slice(0, colon), message: text.slice(colon + 1).trim() };
}
