import type { Batch } from '../ledger/batch-record.ts';
import { originOf } from '../../payload/chunk-payload.ts';
import { csvLine } from './csv-line.ts';
import { cancelledChunks } from './cancelled-chunks.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { FailureRecord } from '../ledger/ledger-reader.ts';
import {
  matches,
  selectFailures,
  type FailedState,
  type FailureFilter,
} from './select-failures.ts';

export type DecodeContacts = (payload: Buffer) => Promise<readonly Record<string, unknown>[]>;

/** The reads of the ledger that an export needs. */
export type ExportSource = Pick<Ledger, 'failures' | 'payload' | 'states'>;

export interface ExportReport {
  readonly contacts: number;
  /** Failures whose contacts are deleted, because they were redriven meanwhile. */
  readonly gone: number;
}

/**
 * Columns that an export adds to those of the contacts. The file can be imported again: an import
 * ignores columns whose name starts with `rejected_`, and unescapes the cells of a list that has the
 * column `rejected_reason` (column-map.ts).
 */
const ADDED_COLUMNS = [
  'rejected_row',
  'rejected_state',
  'rejected_code',
  'rejected_reason',
  'rejected_at',
];

/** Text is written in pieces of about this many characters. */
const PIECE = 32_768;

/**
 * Writes the contacts that were not accepted as CSV with a header. They are read twice, first to collect the names of
 * their fields, so that memory stays bounded.
 *
 * @param write returns false to stop
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
    for (const contact of part.contacts) {
      const row = String(originOf(contact)?.row ?? '');
      text += csvLine([...columns.map((field) => cellOf(contact, field)), row, ...part.why]);
      contacts += 1;
      if (text.length < PIECE) continue;
      if (!(await write(text))) return { contacts, gone };
      text = '';
    }
  }
  await write(text);
  return { contacts, gone };
}

/** The cell of a field; values that are not text (possible after an import of NDJSON) as JSON. */
function cellOf(contact: Readonly<Record<string, unknown>>, field: string): string {
  const value = Object.hasOwn(contact, field) ? contact[field] : undefined;
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Contacts as they were imported, and what is said of them all; undefined for a part whose contacts are deleted. */
async function* failedParts(
  source: ExportSource,
  batch: Batch,
  filter: FailureFilter,
  decode: DecodeContacts,
) {
  const read = async ({ name, state, code, message, at }: FailedChunk) => {
    const payload = await source.payload(batch.id, name);
    if (payload === undefined) return undefined;
    const why = [state, code, message, new Date(at).toISOString()];
    return { contacts: await decode(payload), why };
  };
  for await (const failure of selectFailures(source, batch.id, filter)) yield await read(failure);
  for await (const chunk of cancelledChunks(source, batch)) {
    if (matches(filter, chunk)) yield await read(chunk);
  }
}

type FailedChunk = Omit<FailureRecord, 'size' | 'state'> & { readonly state: FailedState };
