import { z } from 'zod';
import { cancelledChunks } from '../batch/failures/cancelled-chunks.ts';
import { csvLine } from '../batch/failures/csv-line.ts';
import { selectFailures } from '../batch/failures/select-failures.ts';
import type { Batch } from '../batch/ledger/batch-record.ts';
import type { FailureRecord } from '../batch/ledger/ledger-reader.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import type { Contact } from '../contracts/notice.ts';
import { DELIVERY_POLICIES } from '../contracts/outcome.ts';
import { formsOf } from '../format/country.ts';
import { readEnded, STAGES } from '../notices/ended.ts';
import type { NoticeSource } from '../notices/read-job.ts';
import { allEnded, type EndedHead } from '../notices/select-ended.ts';
import { settleAgain } from '../notices/send-again.ts';
import { decodeContacts, originOf } from '../payload/chunk-payload.ts';
import { batchSeal, NO_SEALING } from '../payload/seal.ts';
import { contactsOfJob } from '../payload/sealed-job.ts';
import { redisFailure } from '../redis/failure.ts';
import { count, time } from './answers/fields.ts';

/** A single notice whose outcome is unknown. */
export const unknownNotice = z.object({
  id: z.string(),
  at: time,
  template: z.string(),
  contacts: count,
  code: z.string(),
  stage: z.enum(STAGES),
  delivery: z.enum(DELIVERY_POLICIES),
  possiblySent: count.describe(
    'attempts, also before it was sent again, that the service may have accepted; sent again, it may arrive once more',
  ),
  traceIds: z
    .array(z.string())
    .readonly()
    .exactOptional()
    .describe('of the service, for those of them that it answered, oldest first; the newest ten'),
});
export type UnknownNotice = z.output<typeof unknownNotice>;

/** The unknown outcomes of one batch. */
export const unknownOfBatch = z.object({
  batch: z.string(),
  template: z.string(),
  at: time.describe(
    'when the oldest became unknown: milliseconds since the epoch. After a decision or a cancel, a list over HTTP without a filter may have when another one did, or when the batch was created',
  ),
  contacts: count,
  parts: count.describe('chunks and parts of chunks'),
  codes: z.array(z.string()).describe('the one with most contacts first'),
});
export type UnknownOfBatch = z.output<typeof unknownOfBatch>;

/** Selects unknown outcomes; a field that is undefined matches all. */
export interface UnknownFilter {
  readonly code?: string | undefined;
  readonly template?: string | undefined;
  /** Only contacts of this batch, and of this chunk of it. */
  readonly batch?: string | undefined;
  readonly chunk?: number | undefined;
  /** Only single notices. */
  readonly all?: boolean | undefined;
  /** Only what became unknown before: milliseconds since the epoch. */
  readonly before?: number | undefined;
  /** Only what contains this phone number: digits only. */
  readonly number?: string | undefined;
}

/** Where unknown outcomes are read. The sealing is needed to select encrypted ones by number. */
export interface UnknownContext extends NoticeSource {
  readonly ledger: Ledger;
}

function viewOf(ended: EndedHead): UnknownNotice {
  const { id, at, template, contacts, code, stage = 'started', possiblySent, traceIds } = ended;
  const delivery = ended.delivery ?? 'at-least-once';
  const traces = traceIds === undefined ? {} : { traceIds };
  return { id, at, template, contacts, code, stage, delivery, possiblySent, ...traces };
}

/**
 * The single notices whose outcome is unknown and that match, oldest first; or those of the ids, in their order.
 *
 * @param most that are read, whether they match or not. Default: all
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED, or PAYLOAD_UNREADABLE where they are selected by number
 */
export async function listUnknownNotices(
  source: NoticeSource,
  { code, template, batch, before, number }: UnknownFilter = {},
  ids?: readonly string[],
  most?: number,
): Promise<UnknownNotice[]> {
  if (batch !== undefined) return [];
  await settleAgain(source.redis, source.keys).catch((error: unknown) => {
    throw redisFailure(error);
  });
  const select = { state: 'unknown', code, template, before, number, ids } as const;
  return (await allEnded(source, select, { oldestFirst: true, most })).map(viewOf);
}

/** The contacts of notices that are not accepted, in the order of the notices. @param open reads them in the data of a job */
export async function readContacts(
  { redis, keys, sealing }: NoticeSource,
  notices: readonly { readonly id: string }[],
  open = contactsOfJob,
): Promise<(readonly Contact[])[]> {
  try {
    const ids = notices.map(({ id }) => id);
    const entries = new Map((await readEnded(redis, keys, ids)).map((one) => [one.id, one.data]));
    return ids.map((id) => open(entries.get(id), id, sealing));
  } catch (error) {
    throw redisFailure(error);
  }
}

/** The batches that a filter can match, the newest first. */
export async function* batchesOf(
  { ledger }: { readonly ledger: Ledger },
  { batch, all }: UnknownFilter,
): AsyncGenerator<Batch> {
  if (all === true) return;
  if (batch === undefined) {
    yield* ledger.withUnknown();
    return;
  }
  const found = await ledger.read(batch);
  if (found !== undefined && found.counts.unknown > 0) yield found;
}

/** Unknown contacts of a batch: a failure, or those of its contacts that match a number. */
export interface UnknownPart extends FailureRecord {
  /** Where only some of its contacts match: these, and the others. `size` is the number of these. */
  readonly some?: { readonly of: number; readonly taken: Contact[]; readonly rest: Contact[] };
}

/**
 * The unknown contacts of a batch that match.
 *
 * @throws NoticeQueueError PAYLOAD_UNREADABLE where they are selected by number and cannot be decrypted
 */
export async function* unknownParts(
  { ledger, sealing = NO_SEALING }: Pick<UnknownContext, 'ledger' | 'sealing'>,
  batch: Batch,
  { code, template = batch.templateCode, chunk, before = Infinity, number }: UnknownFilter,
): AsyncGenerator<UnknownPart> {
  const { id, templateCode } = batch;
  if (template !== templateCode) return;
  const forms = number === undefined ? [] : formsOf(number);
  for await (const failure of unknownFailures(ledger, batch)) {
    if (chunk !== undefined && Number.parseInt(failure.name, 10) !== chunk) continue;
    if (failure.at >= before || (code !== undefined && failure.code !== code)) continue;
    if (number === undefined) {
      yield failure;
      continue;
    }
    const payload = await ledger.payload(id, failure.name);
    if (payload === undefined) continue;
    const contacts = await decodeContacts(payload, batchSeal(sealing, id));
    const taken = contacts.filter(({ contact }) => forms.includes(contact));
    const rest = contacts.filter(({ contact }) => !forms.includes(contact));
    if (rest.length === 0) yield failure;
    else if (taken.length > 0) {
      yield { ...failure, size: taken.length, some: { of: contacts.length, taken, rest } };
    }
  }
}

/** The unknown failures of a batch, and the chunks that were possibly sent when it was cancelled. */
async function* unknownFailures(ledger: Ledger, batch: Batch): AsyncGenerator<FailureRecord> {
  yield* selectFailures(ledger, batch.id, { state: 'unknown' });
  for await (const { state, ...chunk } of cancelledChunks(ledger, batch)) {
    if (state === 'unknown')
      yield { ...chunk, state, size: await ledger.sizeOf(batch, chunk.name) };
  }
}

/** Sums up the unknown outcomes of one batch that match; undefined where there are none. */
export async function sumOfBatch(
  source: Pick<UnknownContext, 'ledger' | 'sealing'>,
  batch: Batch,
  filter: UnknownFilter = {},
): Promise<UnknownOfBatch | undefined> {
  const byCode = new Map<string, number>();
  let [at, contacts, parts] = [Infinity, 0, 0];
  for await (const part of unknownParts(source, batch, filter)) {
    at = Math.min(at, part.at);
    contacts += part.size;
    parts += 1;
    byCode.set(part.code, (byCode.get(part.code) ?? 0) + part.size);
  }
  if (parts === 0) return undefined;
  const codes = [...byCode].sort(([, a], [, b]) => b - a).map(([code]) => code);
  return { batch: batch.id, template: batch.templateCode, at, contacts, parts, codes };
}

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

/**
 * Writes the unknown contacts that match as CSV with a header, with their numbers in full: the caller records it in the
 * audit stream first.
 *
 * @param write writes a piece of the text; returns false to stop
 * @returns how many contacts were written
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
  const forms = filter.number === undefined ? undefined : formsOf(filter.number);
  const notices = await listUnknownNotices(context, filter);
  for (let from = 0; from < notices.length; from += PAGE) {
    const some = notices.slice(from, from + PAGE);
    const contacts = await readContacts(context, some);
    yield some.flatMap(({ id, at, template, code, stage, possiblySent, traceIds = [] }, index) =>
      (contacts[index] ?? [])
        .filter(({ contact }) => forms?.includes(contact) !== false)
        .map(({ contact }) => ({
          contact,
          template,
          code,
          stage,
          trace_id: traceIds.join(' '),
          unknown_since: new Date(at).toISOString(),
          possibly_sent: possiblySent,
          notice: id,
        })),
    );
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
        unknown_since: new Date(at).toISOString(),
        batch: batch.id,
        chunk: Number.parseInt(name, 10),
      }));
    }
  }
}
