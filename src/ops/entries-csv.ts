import { BYTE_ORDER_MARK, csvLine, writePieces } from '../batch/failures/csv-line.ts';
import { tracesOf } from '../batch/failures/failures.ts';
import type { Contact } from '../contracts/notice.ts';
import { keptOfContact, rowOfContact } from '../payload/chunk-payload.ts';
import { contactsOfJob } from '../payload/sealed-job.ts';
import { redisFailure } from '../redis/failure.ts';
import { redisTime } from '../redis/server-clock.ts';
import {
  batchesIn,
  contactsOfPart,
  noticesIn,
  partsIn,
  withNumber,
  type EntrySource,
  type EntrySelect,
} from './entries.ts';

/** Why a contact was not accepted, and what is needed to look it up at the service. */
const REASONS = [
  'row',
  'state',
  'code',
  'reason',
  'at',
  'template',
  'trace_id',
  'stage',
  'possibly_sent',
  'notice',
  'batch',
] as const;

type Reason = Partial<Record<(typeof REASONS)[number], string | number | undefined>>;

/**
 * Columns that an export adds to those of the contacts. The file can be imported again: an import ignores columns whose
 * name starts with `rejected_`, and unescapes the cells of a list that has the column `rejected_reason` (column-map.ts).
 */
const ADDED = REASONS.map((name) => `rejected_${name}`);

/**
 * Writes the contacts that were not accepted and match as CSV with a header, with their numbers in full: the caller
 * records it in the audit stream first. Unknown ones are only written where the state says so: imported again, they would
 * be sent again and not counted as such. They are read twice, first to collect the names of their fields, so that memory
 * stays bounded.
 *
 * @param write returns false to stop
 * @returns how many contacts were written, and `gone`: failures whose contacts are deleted, because they were sent again meanwhile
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED or PAYLOAD_UNREADABLE
 */
export async function writeEntries(
  source: EntrySource,
  given: EntrySelect,
  write: (text: string) => Promise<boolean>,
): Promise<{ readonly contacts: number; readonly gone: number }> {
  const now = await redisTime(source.redis).catch((error: unknown) => {
    throw redisFailure(error);
  });
  const { state = given.batch === undefined ? 'rejected' : undefined } = given;
  // What fails later may have other fields.
  const select = { ...given, state, before: given.before ?? Math.ceil(now) };
  const fields = new Set(['contact']);
  const kept = new Set<string>();
  for await (const { contacts = [] } of entriesIn(source, select)) {
    for (const contact of contacts) {
      for (const field of Object.keys(contact)) fields.add(field);
      for (const name of Object.keys(keptOfContact(contact))) kept.add(name);
    }
  }
  const columns = [...fields];
  // With the prefix, an import of the file does not send them either.
  const keptTitles = [...kept].map((name) => `rejected_keep_${name}`);
  const report = { contacts: 0, gone: 0 };
  const lines = async function* () {
    yield BYTE_ORDER_MARK + csvLine([...columns, ...ADDED, ...keptTitles]);
    for await (const { contacts, why } of entriesIn(source, select)) {
      if (contacts === undefined) report.gone += 1;
      for (const contact of contacts ?? []) {
        const reason: Reason = { row: rowOfContact(contact), ...why };
        const added = REASONS.map((name) => String(reason[name] ?? ''));
        const own = keptOfContact(contact);
        added.push(...[...kept].map((name) => own[name] ?? ''));
        report.contacts += 1;
        yield csvLine([...columns.map((field) => cellOf(contact, field)), ...added]);
      }
    }
  };
  await writePieces(lines(), write);
  return report;
}

/** The cell of a field; values that are not text (possible after an import of NDJSON) as JSON. */
function cellOf(contact: Readonly<Record<string, unknown>>, field: string): string {
  const value = Object.hasOwn(contact, field) ? contact[field] : undefined;
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Contacts that match, and what is said of them all; no contacts where they are deleted. */
async function* entriesIn(
  source: EntrySource,
  select: EntrySelect,
): AsyncGenerator<{ readonly contacts: Contact[] | undefined; readonly why: Reason }> {
  for await (const page of noticesIn(source, select)) {
    for (const { id, data, state, code, message, at, template, traceIds, ...rest } of page) {
      const { stage, possiblySent } = rest;
      const contacts = withNumber(select.number, contactsOfJob(data, id, source.sealing));
      const why = { state, code, reason: message, template, notice: id, stage };
      const trace = { trace_id: traceIds?.join(' '), possibly_sent: possiblySent };
      yield { contacts, why: { ...why, ...trace, at: new Date(at).toISOString() } };
    }
  }
  for await (const batch of batchesIn(source, select)) {
    const { id, templateCode: template } = batch;
    for await (const { name, state, code, message, at, some } of partsIn(source, batch, select)) {
      if (state === 'unknown' && select.state === undefined) continue;
      const contacts = some?.taken ?? (await contactsOfPart(source, batch, name));
      const why = { state, code, reason: message, template, batch: id };
      const trace = { trace_id: tracesOf(message), at: new Date(at).toISOString() };
      yield { contacts, why: { ...why, ...trace } };
    }
  }
}
