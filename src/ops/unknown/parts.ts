import { formsOf } from '../../format/country.ts';
import type { Batch } from '../../batch/ledger/batch-record.ts';
import type { Ledger } from '../../batch/ledger/ledger.ts';
import type { FailureRecord } from '../../batch/ledger/ledger-reader.ts';
import { decodeContacts } from '../../payload/chunk-payload.ts';
import { batchSeal, NO_SEALING, type Sealing } from '../../payload/seal.ts';
import { cancelledChunks } from '../../batch/failures/cancelled-chunks.ts';
import { selectFailures } from '../../batch/failures/select-failures.ts';
import type { Contact } from '../../contracts/notice.ts';
import { matchesUnknown, type UnknownFilter } from '../unknown.ts';

/** The unknown outcomes of one batch. */
export interface UnknownOfBatch {
  readonly batch: string;
  readonly template: string;
  /** When the oldest became unknown: Redis time, milliseconds since the epoch. */
  readonly at: number;
  readonly contacts: number;
  /** Chunks and parts of chunks that hold the contacts: each is resolved as a whole. */
  readonly parts: number;
  /** Codes that occur, the one with most contacts first. */
  readonly codes: readonly string[];
}

/** Unknown contacts of a batch: a failure, or those of its contacts that match a number. */
export interface UnknownPart extends FailureRecord {
  /** Where only some of its contacts match: these, and the others. `size` is the number of these. */
  readonly some?: { readonly of: number; readonly taken: Contact[]; readonly rest: Contact[] };
}

/** Where the unknown contacts of batches are read. The sealing is needed to select by number. */
export interface UnknownSource {
  readonly ledger: Pick<Ledger, 'failures' | 'states' | 'sizeOf' | 'payload'>;
  readonly sealing?: Sealing | undefined;
}

/**
 * Yields the unknown contacts of a batch that match.
 *
 * @throws NoticeQueueError PAYLOAD_UNREADABLE where they are selected by number and cannot be decrypted
 */
export async function* unknownParts(
  { ledger, sealing = NO_SEALING }: UnknownSource,
  batch: Batch,
  filter: UnknownFilter,
): AsyncGenerator<UnknownPart> {
  const { id, templateCode: template, counts } = batch;
  const { batch: wanted = id, chunk, number } = filter;
  if (counts.unknown === 0 || wanted !== id) return;
  const forms = number === undefined ? [] : formsOf(number);
  for await (const failure of unknownFailures(ledger, batch)) {
    const own = Number.parseInt(failure.name, 10);
    if (chunk !== undefined && own !== chunk) continue;
    if (!matchesUnknown(filter, { ...failure, template })) continue;
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
async function* unknownFailures(
  ledger: UnknownSource['ledger'],
  batch: Batch,
): AsyncGenerator<FailureRecord> {
  yield* selectFailures(ledger, batch.id, { state: 'unknown' });
  for await (const { state, ...chunk } of cancelledChunks(ledger, batch)) {
    if (state === 'unknown')
      yield { ...chunk, state, size: await ledger.sizeOf(batch, chunk.name) };
  }
}

/**
 * Sums up the unknown outcomes of one batch that match.
 *
 * @returns undefined where there are none
 */
export async function unknownOfBatch(
  source: UnknownSource,
  batch: Batch,
  filter: UnknownFilter = {},
): Promise<UnknownOfBatch | undefined> {
  const codes = new Map<string, number>();
  let [at, contacts, parts] = [Infinity, 0, 0];
  for await (const part of unknownParts(source, batch, filter)) {
    at = Math.min(at, part.at);
    contacts += part.size;
    parts += 1;
    codes.set(part.code, (codes.get(part.code) ?? 0) + part.size);
  }
  if (parts === 0) return undefined;
  const byContacts = [...codes].sort(([, a], [, b]) => b - a).map(([code]) => code);
  return { batch: batch.id, template: batch.templateCode, at, contacts, parts, codes: byContacts };
}
