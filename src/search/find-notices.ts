import type { FoundState } from './find-in-batches.ts';
import type { Sealing } from '../payload/seal.ts';
import type { JobData, SettledContact } from '../contracts/job.ts';
import { findEntries, type FindEntry } from '../number-index/notice-number-index.ts';
import { readJob } from '../notices/read-job.ts';
import type { StoredJob } from '../notices/read-job.ts';
import type { NoticeSource } from '../notices/read-job.ts';
import { earlierSends, type NoticeView } from '../notices/notice-state.ts';
import { noticeView } from '../notices/look-up.ts';
import { openJob } from '../payload/sealed-job.ts';
import { redisFailure } from '../redis/failure.ts';
import { readAudit, type KeptAudit } from '../ops/audit.ts';

/** A single notice with the phone number. */
export interface FoundNotice {
  /** Id of its job. */
  readonly job: string;
  /** Template code; absent if the job is deleted. */
  readonly template?: string;
  /** Its state; if several are listed, it is one of them. */
  readonly states: readonly FoundState[];
  /** Whether the state was read from the job or from a person's decision. If false, the job is deleted. */
  readonly confirmed: boolean;
  /** When it was queued, milliseconds since the epoch. */
  readonly at: number;
  /** Why it failed: the service's code, or one of `ERROR_CODES`. */
  readonly code?: string;
  /**
   * How many of its attempts the service may have accepted without saying so. If it is accepted, at most so
   * many acceptances are duplicates. Absent where there are none, or the job is deleted.
   */
  readonly possiblySent?: number;
}

/** What is known about a deleted job. */
export interface DeletedFacts {
  /** A person's decision, if it is still in the audit stream. */
  readonly decided?: 'accepted' | 'discard' | undefined;
  /** The decision was not about all its contacts: others had been accepted or rejected. */
  readonly partly?: boolean | undefined;
  /** Whether it had a deadline. */
  readonly expires: boolean;
  /**
   * Whether its age is below KEEP_FAILED_MS, and every decision was read: if it were unknown, it would still be
   * stored, because only a decision ends that.
   */
  readonly young: boolean;
}

/**
 * The states that a single notice may have whose job is deleted; the first row that applies:
 *
 * | | states |
 * |---|---|
 * | a person decided | accepted, or cancelled if discarded; or as other contacts of it, accepted or rejected |
 * | an unknown one would still be stored | accepted, rejected or cancelled, or expired if it had a deadline |
 * | | all but pending |
 *
 * What was rejected can be deleted at any time, and what was cancelled is kept for KEEP_ACCEPTED_MS only.
 */
export function statesOfDeleted({
  decided,
  partly = false,
  expires,
  young,
}: DeletedFacts): readonly FoundState[] {
  if (decided !== undefined) {
    const discarded: FoundState[] = decided === 'discard' ? ['cancelled'] : [];
    if (partly) return ['accepted', 'rejected', ...discarded];
    return decided === 'accepted' ? ['accepted'] : discarded;
  }
  const late: FoundState[] = expires ? ['expired'] : [];
  const unknown: FoundState[] = young ? [] : ['unknown'];
  return ['accepted', 'rejected', ...unknown, ...late, 'cancelled'];
}

/** The most notices that are returned; the newest. */
const MAX_NOTICES = 200;

/** Entries of the audit stream that are searched for decisions on deleted jobs: the newest. */
const DECISIONS = 10_000;

/**
 * The single notices with a phone number, the newest first.
 *
 * @param keepMs KEEP_FAILED_MS
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function findNotices(
  source: NoticeSource,
  number: string,
  hash: Buffer,
  keepMs: number,
): Promise<FoundNotice[]> {
  const { redis, keys, sealing } = source;
  const now = Date.now();
  try {
    const entries = await findEntries(redis, keys, hash, keepMs, now);
    let decisions: readonly KeptAudit[] | undefined;
    const found: FoundNotice[] = [];
    for (const entry of entries.slice(0, MAX_NOTICES)) {
      const job = await readJob(source, entry.jobId);
      if (job === undefined) {
        decisions ??= await readAudit(redis, keys, DECISIONS);
        found.push(deletedNotice(entry, decisions));
        continue;
      }
      // The index stores shortened hashes: another number may have the same.
      const place = placeOf(job, number, sealing);
      if (place !== 'none') found.push(keptNotice(entry, job, place));
    }
    return found;
  } catch (error) {
    throw redisFailure(error);
  }
}

function deletedNotice(
  { jobId, at, expires }: FindEntry,
  decisions: readonly KeptAudit[],
): FoundNotice {
  const { as, partly = false } =
    decisions.find(({ what, target }) => what === 'resolve' && target === jobId) ?? {};
  // What was sent again has an outcome of its own.
  const decided = as === 'accepted' || as === 'discard' ? as : undefined;
  // Beyond the bound, decisions may have been left unread.
  const young = decisions.length < DECISIONS;
  const states = statesOfDeleted({ decided, partly, expires, young });
  return { job: jobId, states, confirmed: decided !== undefined && !partly, at };
}

/** As a look-up of the notice shows it; what is being sent is pending. */
function keptNotice(
  { jobId, at }: FindEntry,
  job: StoredJob,
  place: Exclude<ReturnType<typeof placeOf>, 'none'>,
): FoundNotice {
  const { template, ...view } = noticeView(job);
  const { state, code, possiblySent } = placedView(view, place);
  return {
    job: jobId,
    ...(template === undefined ? {} : { template }),
    states: [state === 'sending' || state === 'not-kept' ? 'pending' : state],
    confirmed: true,
    at,
    ...(code === undefined ? {} : { code }),
    ...(possiblySent === 0 ? {} : { possiblySent }),
  };
}

/** What is known of one contact of a notice: its own state, if it has one, or that of the notice. */
function placedView(
  view: Pick<NoticeView, 'state' | 'code' | 'possiblySent' | 'earlier'>,
  place: Exclude<ReturnType<typeof placeOf>, 'none'>,
): Pick<NoticeView, 'state' | 'code' | 'possiblySent'> {
  if (place === 'accepted') return { state: place, possiblySent: view.possiblySent };
  if (typeof place === 'string') return view;
  const { state, code, possiblySent = 1 } = place;
  const before = earlierSends(view.earlier ?? []).possiblySent;
  return { state, code, possiblySent: before + (state === 'unknown' ? possiblySent : 0) };
}

/**
 * Where a job has a phone number: among the contacts that have a state of their own, because the service did not
 * accept the notice as a whole, among the others, or nowhere. Of a job that cannot be read or decrypted it is not known.
 */
function placeOf(
  { id, fields }: StoredJob,
  number: string,
  sealing: Sealing | undefined,
): 'accepted' | SettledContact | 'contacts' | 'none' | 'unreadable' {
  let data: JobData;
  try {
    data = openJob(JSON.parse(fields.data ?? ''), id, sealing);
  } catch {
    return 'unreadable';
  }
  if (data.accepted?.includes(number) === true) return 'accepted';
  const settled = data.settled?.find(({ contact }) => contact.contact === number);
  if (settled !== undefined) return settled;
  return data.notice.contacts.some(({ contact }) => contact === number) ? 'contacts' : 'none';
}
