import { csvLine } from '../batch/failures/csv-line.ts';
import type { JobData } from '../contracts/job.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { failedNotices, type FailedFilter } from './failed-notices.ts';
import type { NoticeJob } from './notice-state.ts';

/** A contact of a failed notice, with its number in full. */
interface FailedContact {
  readonly contact: Readonly<Record<string, unknown>>;
  readonly notice: NoticeJob;
}

/** Jobs per read; each has up to CHUNK_SIZE contacts. */
const PAGE = 50;

/** Columns beside those of the contacts; an import ignores them (export-failures.ts). */
const ADDED = [
  'rejected_state',
  'rejected_code',
  'rejected_reason',
  'rejected_at',
  'rejected_notice',
];

/**
 * Writes the contacts of failed notices as CSV with a header, with their numbers in full: the caller records
 * it in the audit stream first. They are read twice, first to collect the names of their fields.
 *
 * @param write writes a piece of the text; returns false to stop
 * @returns how many contacts were written
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function failedCsv(
  redis: RedisClient,
  keys: Keys,
  filter: FailedFilter,
  write: (text: string) => Promise<boolean>,
): Promise<number> {
  const jobs: NoticeJob[] = [];
  for await (const job of failedNotices(redis, keys, filter)) jobs.push(job);
  const fields = new Set(['contact']);
  for await (const { contact } of failedContacts(redis, keys, jobs)) {
    for (const field of Object.keys(contact)) fields.add(field);
  }
  if (!(await write(csvLine([...fields, ...ADDED])))) return 0;
  let contacts = 0;
  for await (const { contact, notice } of failedContacts(redis, keys, jobs)) {
    const cells = [...fields].map((field) => cellOf(contact[field]));
    const { state, code = '', message = '', endedAt = 0, id } = notice;
    const why = [state, code, message, new Date(endedAt).toISOString(), id];
    if (!(await write(csvLine([...cells, ...why])))) return contacts;
    contacts += 1;
  }
  return contacts;
}

function cellOf(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

async function* failedContacts(
  redis: RedisClient,
  keys: Keys,
  jobs: readonly NoticeJob[],
): AsyncGenerator<FailedContact> {
  try {
    for (let from = 0; from < jobs.length; from += PAGE) {
      const some = jobs.slice(from, from + PAGE);
      const texts = await Promise.all(some.map(({ id }) => redis.hget(keys.noticeJob(id), 'data')));
      for (const [index, notice] of some.entries()) {
        for (const contact of contactsOf(texts[index])) yield { contact, notice };
      }
    }
  } catch (error) {
    throw redisFailure(error);
  }
}

/** The contacts in the data of a job. One that was deleted meanwhile, or that no worker can read, has none. */
export function contactsOf(text: string | null | undefined): JobData['notice']['contacts'] {
  try {
    const contacts: unknown = (JSON.parse(text ?? '') as JobData).notice.contacts;
    return Array.isArray(contacts) ? (contacts as JobData['notice']['contacts']) : [];
  } catch {
    return [];
  }
}
