import type { FoundNotice, FoundState } from './find-answer.ts';
import type { Sealing } from '../payload/seal.ts';
import { findEntries, type FindEntry } from '../number-index/notice-number-index.ts';
import { readJob } from '../notices/read-job.ts';
import type { StoredJob } from '../notices/read-job.ts';
import type { NoticeSource } from '../notices/read-job.ts';
import { noticeView } from '../notices/look-up.ts';
import { openJob } from '../payload/sealed-job.ts';
import { redisFailure } from '../redis/failure.ts';

/**
 * The states that a single notice may have of which nothing is kept: what was accepted is kept for KEEP_ACCEPTED_MS only,
 * what was rejected can be deleted at any time, and of what was cancelled or expired the oldest are.
 *
 * @param expires whether it had a deadline
 * @param isOver it was queued longer than KEEP_FAILED_MS ago: an unknown one is not kept either
 */
export function statesOfDeleted(expires: boolean, isOver: boolean): readonly FoundState[] {
  const unknown: FoundState[] = isOver ? ['unknown'] : [];
  const late: FoundState[] = expires ? ['expired'] : [];
  return ['accepted', 'rejected', ...unknown, ...late, 'cancelled'];
}

/** The most notices that are returned; the newest. */
const MAX_NOTICES = 200;

/** The single notices with a phone number, the newest first. @param keepMs KEEP_FAILED_MS */
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
    const found: FoundNotice[] = [];
    for (const entry of entries.slice(0, MAX_NOTICES)) {
      const job = await readJob(source, entry.jobId);
      if (job === undefined) {
        const { jobId, at, expires } = entry;
        const states = statesOfDeleted(expires, at < now - keepMs);
        found.push({ job: jobId, states, confirmed: false, at });
        continue;
      }
      // The index stores shortened hashes: another number may have the same.
      if (mayHave(job, number, sealing)) found.push(keptNotice(entry, job));
    }
    return found;
  } catch (error) {
    throw redisFailure(error);
  }
}

/** As a look-up of the notice shows it; what is being sent is pending. */
function keptNotice({ jobId, at }: FindEntry, job: StoredJob): FoundNotice {
  const { template, state, code, possiblySent } = noticeView(job);
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

/** Whether a job has a phone number. Of one that cannot be read or decrypted it is not known. */
function mayHave(
  { id, fields, ended }: StoredJob,
  number: string,
  sealing: Sealing | undefined,
): boolean {
  const text = ended === undefined ? fields.data : ended.data;
  try {
    const { notice } = openJob(JSON.parse(text ?? ''), id, sealing);
    return notice.contacts.some(({ contact }) => contact === number);
  } catch {
    return true;
  }
}
