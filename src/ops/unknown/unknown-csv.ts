import { formsOf } from '../../format/country.ts';
import { csvLine } from '../../batch/failures/csv-line.ts';
import { decodeContacts, originOf } from '../../payload/chunk-payload.ts';
import { batchSeal, NO_SEALING } from '../../payload/seal.ts';
import type { Actor, AuditEntry } from '../audit.ts';
import { listUnknownNotices, readContacts, type UnknownFilter } from '../unknown.ts';
import { unknownParts } from './parts.ts';
import { batchesOf, type UnknownContext } from './select.ts';

/** What is needed to look a contact up at the service; not for an import, so without its variables. */
const COLUMNS = [
  'contact',
  'template',
  'code',
  'trace_id',
  'message',
  'stage',
  'unknown_since',
  'possibly_sent',
  'notice',
  'batch',
  'chunk',
  'row',
] as const;

/** Notices per read. */
const PAGE = 100;

/** The entry of the audit stream for a download of what matches. */
export function unknownDownload(
  { batch, code, template }: UnknownFilter,
  actor: Actor,
): AuditEntry {
  const target = batch === undefined ? 'unknown outcomes' : `batch ${batch}`;
  const as = ['unknown', code, template].filter((part) => part !== undefined).join(' ');
  return { ...actor, what: 'download', target, as };
}

/**
 * Writes the unknown contacts that match as CSV with a header, with their numbers in full: the caller records it
 * in the audit stream first ({@link unknownDownload}).
 *
 * @param write writes a piece of the text; returns false to stop
 * @returns how many contacts were written
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED or PAYLOAD_UNREADABLE
 */
export async function unknownCsv(
  context: UnknownContext,
  filter: UnknownFilter,
  write: (text: string) => Promise<boolean>,
): Promise<number> {
  if (!(await write(csvLine(COLUMNS)))) return 0;
  let contacts = 0;
  for await (const rows of pagesOf(context, filter)) {
    const text = rows
      .map((row) => csvLine(COLUMNS.map((name) => String(row[name] ?? ''))))
      .join('');
    if (!(await write(text))) return contacts;
    contacts += rows.length;
  }
  return contacts;
}

type UnknownRow = Partial<Record<(typeof COLUMNS)[number], string | number>>;

async function* pagesOf(
  context: UnknownContext,
  filter: UnknownFilter,
): AsyncGenerator<UnknownRow[]> {
  const { ledger, sealing = NO_SEALING } = context;
  const { batch: only, number } = filter;
  const forms = number === undefined ? undefined : formsOf(number);
  const chosen = ({ contact }: { readonly contact: string }) =>
    forms === undefined || forms.includes(contact);
  const notices = only === undefined ? await listUnknownNotices(context, filter) : [];
  for (let from = 0; from < notices.length; from += PAGE) {
    const some = notices.slice(from, from + PAGE);
    const contacts = await readContacts(context, some);
    yield some.flatMap((notice, index) => {
      const { id, at, template, code, stage, possiblySent } = notice;
      return (contacts[index] ?? []).filter(chosen).map(({ contact }) => ({
        contact,
        template,
        code,
        stage,
        trace_id: notice.traceIds?.join(' ') ?? '',
        unknown_since: timeOf(at),
        possibly_sent: possiblySent,
        notice: id,
      }));
    });
  }
  for await (const batch of batchesOf(context, filter)) {
    for await (const { name, at, code, message, some } of unknownParts(context, batch, filter)) {
      const payload = some === undefined ? await ledger.payload(batch.id, name) : undefined;
      const contacts =
        payload === undefined
          ? (some?.taken ?? [])
          : await decodeContacts(payload, batchSeal(sealing, batch.id));
      yield contacts.map((stored) => ({
        contact: stored.contact,
        row: originOf(stored)?.row ?? '',
        template: batch.templateCode,
        code,
        message,
        unknown_since: timeOf(at),
        batch: batch.id,
        chunk: Number.parseInt(name, 10),
      }));
    }
  }
}

const timeOf = (at: number) => new Date(at).toISOString();
