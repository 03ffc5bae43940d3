import type { Job } from 'bullmq';
import type { FoundState } from './find-in-batches.ts';
import type { Sealing } from '../payload/seal.ts';
import type { JobData, SettledContact } from '../contracts/job.ts';
import { possiblySentAttempts } from '../contracts/possibly-sent.ts';
import { findEntries, type FindEntry } from '../number-index/notice-number-index.ts';
import type { NoticeSource } from '../notices/notice-source.ts';
import { stateOfJob } from '../notices/state-of-job.ts';
import { openJob, type StoredJobData } from '../payload/sealed-job.ts';
import { redisFailure } from '../redis/failure.ts';
import { QUEUE_NAME } from '../redis/keys.ts';
import { openBullQueue } from '../redis/open-queue.ts';
import { readAudit, type KeptAudit } from '../ops/audit.ts';
import { readUnknown } from '../ops/unknown.ts';

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

/** What is known about a found job. */
export interface JobFacts {
  /** State in BullMQ; undefined if the job is deleted. */
  readonly state: string | undefined;
  /** Result of a completed job. */
  readonly outcome?: unknown;
  /** Whether it is listed as unknown. */
  readonly unknown: boolean;
  /** The service may have accepted an attempt. */
  readonly possiblySent: boolean;
  /** A person's decision, if it is still in the audit stream. */
  readonly decided?: 'accepted' | 'discard' | undefined;
  /** Whether it had a deadline. */
  readonly expires: boolean;
  /**
   * Whether its age is below KEEP_FAILED_MS, and every decision was read: if it were unknown, it would still be
   * stored, because only a decision ends that.
   */
  readonly young: boolean;
}

/**
 * The state of a single notice; the first row that applies:
 *
 * | job | | states |
 * |---|---|---|
 * | there | | as {@link stateOfJob} says; what is being sent is pending |
 * | deleted | a person decided | accepted, or cancelled if discarded |
 * | deleted | an unknown one would still be stored | accepted, rejected or cancelled, or expired if it had a deadline |
 * | deleted | | all but pending |
 *
 * What was rejected can be deleted at any time, and what was cancelled is kept for KEEP_ACCEPTED_MS only.
 */
export function statesOf(facts: JobFacts): readonly FoundState[] {
  const { state, decided, expires, young } = facts;
  if (state !== undefined) return [stateOfKept(state, facts)];
  if (decided !== undefined) return [decided === 'accepted' ? 'accepted' : 'cancelled'];
  const late: FoundState[] = expires ? ['expired'] : [];
  const unknown: FoundState[] = young ? [] : ['unknown'];
  return ['accepted', 'rejected', ...unknown, ...late, 'cancelled'];
}

/** The state of a job that is not deleted, decided as a look-up of the notice does. */
function stateOfKept(place: string, { outcome, unknown, possiblySent }: JobFacts): FoundState {
  const ended = place === 'completed' || place === 'failed';
  const { state } = stateOfJob({
    // Every other place of BullMQ is a job that may still be sent.
    place: ended ? place : 'wait',
    outcome: typeof outcome === 'string' ? outcome : undefined,
    listedUnknown: ended && unknown,
    possiblySent,
    held: false,
    limited: false,
  });
  return state === 'sending' || state === 'not-kept' ? 'pending' : state;
}

/** The most notices that are returned; the newest. */
const MAX_NOTICES = 200;

/** Entries of the audit stream that are searched for decisions on deleted jobs: the newest. */
const DECISIONS = 10_000;

/**
 * The single notices with a phone number, the newest first.
 *
 * @param keepMs FIND_RETENTION_MS and KEEP_FAILED_MS
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function findNotices(
  { redis, keys, sealing }: NoticeSource,
  number: string,
  hash: Buffer,
  keepMs: { readonly find: number; readonly failed: number },
): Promise<FoundNotice[]> {
  const now = Date.now();
  const queue = openBullQueue(QUEUE_NAME, redis, keys);
  try {
    const entries = await findEntries(redis, keys, hash, keepMs.find, now);
    let decisions: readonly KeptAudit[] | undefined;
    const found: FoundNotice[] = [];
    for (const entry of entries.slice(0, MAX_NOTICES)) {
      const job = (await queue.getJob(entry.jobId)) as Job<StoredJobData> | undefined;
      // The index stores shortened hashes: another number may have the same.
      const place = job === undefined ? 'unreadable' : placeOf(job, number, sealing);
      if (place === 'none') continue;
      if (job === undefined) decisions ??= await readAudit(redis, keys, DECISIONS);
      const [listed] = job === undefined ? [] : await readUnknown(redis, keys, [entry.jobId]);
      const as = decisions?.find(
        ({ what, target }) => what === 'resolve' && target === entry.jobId,
      )?.as;
      // What was sent again has an outcome of its own.
      const decided = as === 'accepted' || as === 'discard' ? as : undefined;
      // Beyond the bound, decisions may have been left unread.
      const isAllRead = decisions === undefined || decisions.length < DECISIONS;
      const states = statesOf({
        state: await job?.getState(),
        outcome: (job?.returnvalue as { outcome?: unknown } | null | undefined)?.outcome,
        unknown: listed !== undefined,
        possiblySent: job !== undefined && possiblySentAttempts(job) > 0,
        decided,
        expires: entry.expires,
        young: isAllRead && now - entry.at < keepMs.failed,
      });
      const possiblySent = listed?.possiblySent ?? (job && possiblySentAttempts(job));
      found.push({
        ...foundNotice(
          entry,
          job,
          place === 'contacts' || place === 'unreadable' ? states : [place],
          decided !== undefined,
        ),
        ...(possiblySent ? { possiblySent } : {}),
      });
    }
    return found;
  } catch (error) {
    throw redisFailure(error);
  } finally {
    await queue.close().catch(() => {});
  }
}

function foundNotice(
  { jobId, at }: FindEntry,
  job: Job<StoredJobData> | undefined,
  states: readonly FoundState[],
  decided: boolean,
): FoundNotice {
  // The reason of a failed job is its code, a colon and the service's message.
  const code = job?.failedReason?.split(':')[0];
  return {
    job: jobId,
    ...(job === undefined ? {} : { template: job.data.notice.templateCode }),
    states,
    confirmed: job !== undefined || decided,
    at,
    ...(code === undefined || code === '' ? {} : { code }),
  };
}

/**
 * Where a job has a phone number: among the contacts that have a state of their own, because the service did not
 * accept the notice as a whole, among the others, or nowhere. Of a job that cannot be read or decrypted it is not known.
 */
function placeOf(
  job: Job<unknown>,
  number: string,
  sealing: Sealing | undefined,
): 'accepted' | SettledContact['state'] | 'contacts' | 'none' | 'unreadable' {
  let data: JobData;
  try {
    data = openJob(job.data, job.id ?? '', sealing);
  } catch {
    return 'unreadable';
  }
  if (data.accepted?.includes(number) === true) return 'accepted';
  const settled = data.settled?.find(({ contact }) => contact.contact === number);
  if (settled !== undefined) return settled.state;
  return data.notice.contacts.some(({ contact }) => contact === number) ? 'contacts' : 'none';
}
