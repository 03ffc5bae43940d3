import { csvLine } from '../batch/failures/csv-line.ts';
import { redisFailure } from '../redis/failure.ts';
import { failedNotices, type FailedFilter } from './failed-notices.ts';
import type { NoticeView } from './notice-state.ts';
import type { NoticeSource } from './read-job.ts';
import { contactsOfJob } from '../payload/sealed-job.ts';

/** A contact of a failed notice, with its number in full. */
interface FailedContact {
  readonly contact: Readonly<Record<string, unknown>>;
  readonly notice: NoticeView;
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
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED or PAYLOAD_UNREADABLE
 */
export async function failedCsv(
  source: NoticeSource,
  filter: FailedFilter,
  write: (text: string) => Promise<boolean>,
): Promise<number> {
  const jobs: NoticeView[] = [];
  for await (const job of failedNotices(source.redis, source.keys, filter)) jobs.push(job);
  const fields = new Set(['contact']);
  for await (const { contact } of failedContacts(source, jobs)) {
    for (const field of Object.keys(contact)) fields.add(field);
  }
  if (!(await write(csvLine([...fields, ...ADDED])))) return 0;
  let contacts = 0;
  for await (const { contact, notice } of failedContacts(source, jobs)) {
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
  { redis, keys, sealing }: NoticeSource,
  jobs: readonly NoticeView[],
): AsyncGenerator<FailedContact> {
  try {
    for (let from = 0; from < jobs.length; from += PAGE) {
      const some = jobs.slice(from, from + PAGE);
      const texts = await Promise.all(some.map(({ id }) => redis.hget(keys.noticeJob(id), 'data')));
      for (const [index, notice] of some.entries()) {
        for (const contact of contactsOfJob(texts[index], notice.id, sealing)) {
          yield { contact, notice };
        }
      }
    }
  } catch (error) {
    throw redisFailure(error);
  }
}
