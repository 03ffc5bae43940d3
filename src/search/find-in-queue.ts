import { z } from 'zod';
import { Ledger } from '../batch/ledger/ledger.ts';
import { lookUpNumber } from '../batch/source/check-number.ts';
import { InputError } from '../contracts/errors.ts';
import { formsOf } from '../format/country.ts';
import { noticeView } from '../notices/look-up.ts';
import { readNoticeJob, type NoticeSource, type StoredJob } from '../notices/read-job.ts';
import { findEntries, type FindEntry } from '../number-index/notice-number-index.ts';
import { findKey, hashNumber } from '../number-index/number-key.ts';
import { openJob } from '../payload/sealed-job.ts';
import { translated } from '../redis/failure.ts';
import { storedJson } from '../redis/stored-json.ts';
import type { OperationContext } from '../ops/operations/operation.ts';
import type { FindReport, FoundContact, FoundNotice, FoundState } from './find-answer.ts';
import { findInBatches } from './find-in-batches.ts';

/** Where notices are found; a search without FIND_KEY fails. */
type FindContext = NoticeSource & Pick<OperationContext, 'findSettings'>;

/** Like `findContact`, on an existing connection. */
export async function findInQueue(context: FindContext, number: string): Promise<FindReport> {
  const { redis, keys, findSettings } = context;
  const { findKey: secret, keepFailedMs } = findSettings;
  if (secret === undefined) {
    const problem =
      'is not set, so notices are not searchable: set the same 32 random bytes for producers, importers and searches; notices that are queued from then on can be found';
    throw new InputError('CONFIG_INVALID', [{ field: 'FIND_KEY', problem }]);
  }
  const checked = lookUpNumber(number);
  if (checked.kind === 'refused') {
    throw new InputError('NOTICE_INVALID', [{ field: 'number', problem: checked.reason }]);
  }
  const key = findKey(secret);
  const source = { ...context, ledger: new Ledger(redis, keys) };
  const notices: FoundNotice[] = [];
  const contacts: FoundContact[] = [];
  const searched = {
    since: Date.now() - keepFailedMs,
    batches: 0,
    contacts: 0,
    unindexedChunks: 0,
  };
  for (const form of formsOf(checked.number)) {
    const hash = hashNumber(key, form);
    notices.push(...(await findNotices(context, form, hash)));
    const { found, unindexed, ...sums } = await findInBatches(source, form, hash);
    Object.assign(searched, { ...sums, unindexedChunks: unindexed });
    contacts.push(...found);
  }
  return { notices, contacts, searched };
}

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
  return ['accepted', 'rejected', ...unknown, ...late, 'cancelled', 'suppressed'];
}

const MAX_NOTICES = 200;

/** The single notices with a phone number, the newest first. */
async function findNotices(
  source: FindContext,
  number: string,
  hash: Buffer,
): Promise<FoundNotice[]> {
  const { redis, keys } = source;
  const { keepFailedMs: keepMs } = source.findSettings;
  const now = Date.now();
  const entries = await translated(findEntries(redis, keys, hash, keepMs, now));
  const found: FoundNotice[] = [];
  for (const entry of entries.slice(0, MAX_NOTICES)) {
    const [job] = await translated(readNoticeJob(source, { mode: 'id', text: entry.jobId }));
    if (job.place === 'none' && job.ended === undefined) {
      const { jobId, at, expires } = entry;
      const states = statesOfDeleted(expires, at < now - keepMs);
      found.push({ job: jobId, states, confirmed: false, at });
      // The index stores shortened hashes: another number may have the same.
    } else if (mayHave(job, number, source)) found.push(keptNotice(entry, job));
  }
  return found;
}

/** As a look-up of the notice shows it; what is being sent is pending. */
function keptNotice({ jobId, at }: FindEntry, job: StoredJob): FoundNotice {
  const { template, state, code, possiblySent, suppressed = 0 } = noticeView(job);
  const known = state === 'sending' || state === 'not-kept' ? 'pending' : state;
  return {
    job: jobId,
    ...(template === undefined ? {} : { template }),
    // Which of its contacts were left out is not kept.
    states: suppressed === 0 ? [known] : [known, 'suppressed'],
    confirmed: suppressed === 0,
    at,
    ...(code === undefined ? {} : { code }),
    ...(possiblySent === 0 ? {} : { possiblySent }),
  };
}

/** Whether a job has a phone number. Of one that cannot be read or decrypted it is not known. */
function mayHave(
  { id, fields, ended }: StoredJob,
  number: string,
  { sealing }: NoticeSource,
): boolean {
  const text = ended === undefined ? fields.data : ended.data;
  try {
    const { notice } = openJob(storedJson(z.unknown(), text), id, sealing);
    return notice.contacts.some(({ contact }) => contact === number);
  } catch {
    return true;
  }
}
