import type { Batch } from '../batch/ledger/batch-record.ts';
import type { ChunkState } from '../batch/ledger/settlement.ts';
import { searchChunks, type FingerprintHit } from '../number-index/chunk-fingerprints.ts';
import { contactsOfPart, type EntrySource } from '../ops/entries.ts';
import { rowOfContact } from '../payload/chunk-payload.ts';
import { hasRow, rowAt } from '../payload/row-numbers.ts';
import { noneUnreadable } from '../payload/seal.ts';
import { translated } from '../redis/failure.ts';
import type { FoundContact, FoundState } from './find-answer.ts';

/**
 * Searches the stored batches for a phone number, the newest first. Reads only the index (one command for
 * each batch and each 200 of its chunks), and of a chunk that contains the fingerprint of the number its contacts and the
 * results of its list.
 *
 * @returns beside what is found, how many batches and contacts were searched, and chunks without an index
 */
export async function findInBatches(source: EntrySource, number: string, hash: Buffer) {
  const { redis, keys, ledger } = source;
  const found: FoundContact[] = [];
  let [batches, contacts, unindexed] = [0, 0, 0];
  for await (const batch of ledger.all()) {
    batches += 1;
    const search = await translated(
      searchChunks(redis, keys.batchFind(batch.id), batch.chunks, hash),
    );
    contacts += search.contacts;
    // Others than those of the list have no fingerprints of their own.
    unindexed += search.unindexed - (batch.chunks - batch.chunksOfList);
    for (const hit of search.hits) {
      const contact = await stateOfHit(source, batch, hit, number);
      if (contact !== undefined) found.push(contact);
    }
  }
  return { found, batches, contacts, unindexed };
}

/** Contacts move to another chunk or failure, or end, while they are read: then all is read once more. */
const MOST_READS = 3;

/**
 * What became of a contact of a chunk. Where it is stored, it is confirmed, or has another number; else it is deleted, and
 * the results of its list say what became of its row.
 */
async function stateOfHit(
  source: EntrySource,
  batch: Batch,
  { chunk, place, rows }: FingerprintHit,
  number: string,
): Promise<FoundContact | undefined> {
  const { ledger } = source;
  const { id, templateCode: template } = batch;
  const row = rowAt(rows, place);
  const about = { batch: id, template, ...(row === undefined ? {} : { row }) };
  for (let read = 1; ; read++) {
    const unreadable: FoundContact[] = [];
    for (const name of await ledger.payloadNamesOf(id, chunk)) {
      const contacts = await contactsOfPart(source, batch, name).catch(noneUnreadable);
      const contact = contacts?.find(
        (one) => one.contact === number && (rowOfContact(one) ?? row) === row,
      );
      if (contacts !== undefined && contact === undefined) {
        if (row !== undefined && contacts.some((one) => rowOfContact(one) === row))
          return undefined;
        continue;
      }
      const state = await stateOfPart(source, batch, name);
      const found = { ...about, chunk: Number.parseInt(name, 10), ...state };
      if (contact !== undefined) return { ...found, confirmed: true };
      unreadable.push({ ...found, confirmed: false });
    }
    for await (const line of ledger.ends(id)) {
      const [state = '', at, , of = '', sent] = line.split(' ');
      if (row === undefined || !hasRow(of, row)) continue;
      const states = [state as FoundState];
      const earlier = sent === undefined ? {} : { possiblySent: Number(sent) };
      return { ...about, chunk, states, at: Number(at), ...earlier, confirmed: false };
    }
    if (unreadable.length > 0 || read === MOST_READS) return unreadable[0];
  }
}

/** The state of contacts that are stored: those of a failure, or of a chunk without an end. */
async function stateOfPart({ ledger }: EntrySource, batch: Batch, name: string) {
  const failure = await ledger.failure(batch.id, name);
  if (failure !== undefined) {
    const { state, at, code } = failure;
    return { states: [state], at, ...(code === '' ? {} : { code }) };
  }
  const chunk = Number(name);
  const [state = 'none'] = await ledger.states(batch.id, chunk, chunk + 1);
  return { states: [openState(batch, state)], at: batch.begunAt };
}

/** State of the contacts of a chunk that is not settled; in a cancelled batch it may be final. */
function openState({ phase }: Batch, state: ChunkState): FoundState {
  if (phase !== 'cancelled') return 'pending';
  if (state === 'pending') return 'cancelled';
  return state === 'pending-possibly-sent' ? 'unknown' : 'pending';
}
