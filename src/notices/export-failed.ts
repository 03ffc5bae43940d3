import { csvLine } from '../batch/failures/csv-line.ts';
import { redisFailure } from '../redis/failure.ts';
import { readEnded } from './ended.ts';
import { allEnded, type EndedHead, type FailedFilter } from './select-ended.ts';
import type { NoticeSource } from './read-job.ts';
import { contactsOfJob } from '../payload/sealed-job.ts';

/** A contact of a failed notice, with its number in full. */
interface FailedContact {
  readonly contact: Readonly<Record<string, unknown>>;
  readonly notice: EndedHead;
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
 * @param write writes a piece of the text; returns false to stop
 * @returns how many contacts were written
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED or PAYLOAD_UNREADABLE
 */
export async function failedCsv(
  source: NoticeSource,
  filter: FailedFilter,
  write: (text: string) => Promise<boolean>,
): Promise<number> {
  const found = await allEnded(source, filter);
  const fields = new Set(['contact']);
  for await (const { contact } of failedContacts(source, found)) {
    for (const field of Object.keys(contact)) fields.add(field);
  }
  if (!(await write(csvLine([...fields, ...ADDED])))) return 0;
  let contacts = 0;
  for await (const { contact, notice } of failedContacts(source, found)) {
    const cells = [...fields].map((field) => cellOf(contact[field]));
    const { state, code, message = '', at, id } = notice;
    const why = [state, code, message, new Date(at).toISOString(), id];
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
  found: readonly EndedHead[],
): AsyncGenerator<FailedContact> {
  try {
    for (let from = 0; from < found.length; from += PAGE) {
      const some = found.slice(from, from + PAGE);
      for (const { data, text: _, ...notice } of await readEnded(
        redis,
        keys,
        some.map(({ id }) => id),
      )) {
        if (!some.some(({ id, at }) => id === notice.id && at === notice.at)) continue;
        for (const contact of contactsOfJob(data, notice.id, sealing)) yield { contact, notice };
      }
    }
  } catch (error) {
    throw redisFailure(error);
  }
}
