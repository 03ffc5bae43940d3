import type { Batch } from '../ledger/batch-record.ts';
import type { ChunkState } from '../ledger/chunk-state.ts';
import { csvLine } from './csv-line.ts';
import { CANCELLED, CANCELLED_POSSIBLY_SENT } from './failure-groups.ts';
import type { Ledger } from '../ledger/ledger.ts';
import {
  matches,
  selectFailures,
  type FailedState,
  type FailureFilter,
} from './select-failures.ts';

/** Opens what the ledger keeps of a chunk's contacts. */
export type DecodeContacts = (payload: Buffer) => Promise<readonly Record<string, unknown>[]>;

/** What an export reads from. */
export type ExportSource = Pick<Ledger, 'failures' | 'payload' | 'states'>;

/** What became of an export. */
export interface ExportReport {
  readonly contacts: number;
  /** Failures whose contacts were no longer there: redriven meanwhile. */
  readonly gone: number;
}

/**
 * Columns that an export adds to the contact's own. An import passes over columns whose name begins
 * with `rejected_`, and takes `rejected_reason` as a sign that cells were escaped (column-map.ts), so
 * that the file can be imported again as it is.
 */
const ADDED_COLUMNS = ['rejected_state', 'rejected_code', 'rejected_reason', 'rejected_at'];

/** States of so many chunks are read at a time. */
const CHUNKS_PER_READ = 4_096;

/** Text is handed on in pieces of about so many characters. */
const PIECE = 32_768;

/**
 * Writes the contacts that were not accepted as CSV, one line each, the header first. Memory does not
 * grow with their number: they are read twice, first for the names of their fields.
 *
 * @param write takes a piece of the text; answers false to stop
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED, or PAYLOAD_UNREADABLE of the decoder
 */
export async function exportFailures(
  source: ExportSource,
  batch: Batch,
  filter: FailureFilter,
  decode: DecodeContacts,
  write: (text: string) => Promise<boolean>,
): Promise<ExportReport> {
  const fields = new Set(['contact']);
  for await (const part of failedParts(source, batch, filter, decode)) {
    for (const contact of part?.contacts ?? []) {
      for (const field of Object.keys(contact)) fields.add(field);
    }
  }
  const columns = [...fields];
  let text = csvLine([...columns, ...ADDED_COLUMNS]);
  let [contacts, gone] = [0, 0];
  for await (const part of failedParts(source, batch, filter, decode)) {
    if (part === undefined) {
      gone += 1;
      continue;
    }
    const why = [part.state, part.code, part.message, new Date(part.at).toISOString()];
    for (const contact of part.contacts) {
      text += csvLine([...columns.map((field) => cellOf(contact, field)), ...why]);
      contacts += 1;
      if (text.length < PIECE) continue;
      if (!(await write(text))) return { contacts, gone };
      text = '';
    }
  }
  await write(text);
  return { contacts, gone };
}

/** Fields that are not text pass through an import from NDJSON; a cell shows their JSON. */
function cellOf(contact: Readonly<Record<string, unknown>>, field: string): string {
  const value = Object.hasOwn(contact, field) ? contact[field] : undefined;
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Contacts that were not accepted, as they were imported, all for the same reason. */
interface ExportedPart {
  readonly contacts: readonly Readonly<Record<string, unknown>>[];
  readonly state: FailedState;
  readonly code: string;
  /** The service's words, masked. */
  readonly message: string;
  /** Redis time, milliseconds since the epoch. */
  readonly at: number;
}

/** Yields undefined for a part whose contacts are gone. */
async function* failedParts(
  source: ExportSource,
  batch: Batch,
  filter: FailureFilter,
  decode: DecodeContacts,
): AsyncGenerator<ExportedPart | undefined> {
  const read = async (
    name: string,
    why: Omit<ExportedPart, 'contacts'>,
  ): Promise<ExportedPart | undefined> => {
    const payload = await source.payload(batch.id, name);
    if (payload === undefined) return undefined;
    const { state, code, message, at } = why;
    return { state, code, message, at, contacts: await decode(payload) };
  };
  for await (const failure of selectFailures(source, batch.id, filter)) {
    yield await read(failure.name, failure);
  }
  if (batch.phase !== 'cancelled') return;
  for (let first = 0; first < batch.chunks; first += CHUNKS_PER_READ) {
    const end = Math.min(batch.chunks, first + CHUNKS_PER_READ);
    const states = await source.states(batch.id, first, end);
    for (const [index, state] of states.entries()) {
      const why = whyCancelled(state, batch);
      if (why !== undefined && matches(filter, why)) yield await read(String(first + index), why);
    }
  }
}

/**
 * What a chunk's state says of its contacts once its batch is cancelled: `pending` was never sent,
 * `pending-possibly-sent` may have been taken. All others are settled, or still under way.
 */
function whyCancelled(
  state: ChunkState,
  { finishedAt, movedAt }: Batch,
): Omit<ExportedPart, 'contacts'> | undefined {
  const at = finishedAt === 0 ? movedAt : finishedAt;
  if (state === 'pending') {
    return { state: 'cancelled', code: CANCELLED, message: 'never sent', at };
  }
  if (state !== 'pending-possibly-sent') return undefined;
  return {
    state: 'unknown',
    code: CANCELLED_POSSIBLY_SENT,
    message: 'the batch was cancelled before the answer was known',
    at,
  };
}
