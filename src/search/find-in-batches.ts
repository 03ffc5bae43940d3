import type { RedisClient } from '../redis/connect.ts';
import { translated } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import type { Batch } from '../batch/ledger/batch-record.ts';
import { searchChunks, type FingerprintHit } from '../number-index/chunk-fingerprints.ts';
import type { FoundContact, FoundState } from './find-answer.ts';
import type { ChunkState } from '../batch/ledger/settlement.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import type { FailureRecord } from '../batch/ledger/ledger-reader.ts';
import { decodeContacts, rowOfContact } from '../payload/chunk-payload.ts';
import { batchSeal, NO_SEALING, type Sealing } from '../payload/seal.ts';

/** Result of a search in batches. */
export interface BatchSearch {
  readonly found: readonly FoundContact[];
  readonly batches: number;
  /** Contacts whose fingerprints were searched. */
  readonly contacts: number;
  /** Chunks that could not be searched: without an index, or their index has expired. */
  readonly unindexed: number;
}

/** What a search in batches needs. */
export interface BatchSearchContext {
  readonly redis: RedisClient;
  readonly keys: Keys;
  readonly ledger: Ledger;
  /** Decrypt the contacts that are still stored. */
  readonly sealing?: Sealing | undefined;
}

/**
 * Searches the stored batches for a phone number, the newest first. Reads only the index (one command for
 * each batch and each 200 of its chunks), and the contacts of chunks that contain the fingerprint of the
 * number.
 */
export async function findInBatches(
  parts: BatchSearchContext,
  number: string,
  hash: Buffer,
): Promise<BatchSearch> {
  const found: FoundContact[] = [];
  let [batches, contacts, unindexed] = [0, 0, 0];
  for await (const batch of parts.ledger.all()) {
    batches += 1;
    const find = parts.keys.batchFind(batch.id);
    const search = await translated(searchChunks(parts.redis, find, batch.chunks, hash));
    contacts += search.contacts;
    unindexed += search.unindexed;
    for (const hit of search.hits) {
      const contact = await stateOfHit(parts, batch, hit, number);
      if (contact !== undefined) found.push(contact);
    }
  }
  return { found, batches, contacts, unindexed };
}

/** Contacts of a chunk: where they are, or what a person has decided about them. */
interface ContactPlace {
  readonly chunk: number;
  /** Under which they may still be stored: a chunk that is not settled, or a failure. Those decided on are deleted. */
  readonly name?: string;
  readonly state: FoundState;
  readonly size: number;
  readonly at: number;
  readonly code?: string;
}

/**
 * The state of the contact in a chunk, from the contacts of the chunk that are still stored.
 *
 * If one of them has the number, it is confirmed. If all are stored and none has it, the fingerprint is
 * that of another number. Otherwise the contact is deleted: it was accepted, or a person decided on it.
 */
async function stateOfHit(
  parts: BatchSearchContext,
  batch: Batch,
  { chunk, size }: FingerprintHit,
  number: string,
): Promise<FoundContact | undefined> {
  const { id, templateCode: template, begunAt } = batch;
  let gone = size;
  const states = new Set<FoundState>();
  for (const place of await placesOf(parts, batch, chunk)) {
    const contacts = await contactsOf(parts, id, place.name);
    gone -= contacts?.length ?? place.size;
    if (contacts === undefined) states.add(place.state);
    const contact = contacts?.find((one) => one.contact === number);
    if (contact === undefined) continue;
    const { state, at, code = '' } = place;
    const row = rowOfContact(contact);
    return {
      batch: id,
      template,
      chunk: place.chunk,
      ...(row === undefined ? {} : { row }),
      states: [state],
      confirmed: true,
      at,
      ...(code === '' ? {} : { code }),
    };
  }
  if (gone > 0) states.add('accepted');
  if (states.size === 0) return undefined;
  return { batch: id, template, chunk, states: [...states], confirmed: false, at: begunAt };
}

/** Follows a chunk and its failures through all redrives, and what was split off. */
async function placesOf(
  { redis, keys, ledger }: BatchSearchContext,
  batch: Batch,
  first: number,
): Promise<readonly ContactPlace[]> {
  const { sizes, failures } = keys.batch(batch.id);
  const find = keys.batchFind(batch.id);
  const at = batch.begunAt;
  const places: ContactPlace[] = [];
  const chunks = [first];
  // Chunks that others became are added during the loop; their numbers only increase.
  for (const chunk of chunks.values()) {
    const [state = 'none'] = await ledger.states(batch.id, chunk, chunk + 1);
    const [[kept, parts], failureCount, foundCount] = await translated(
      Promise.all([
        redis.hmget(sizes, String(chunk), `${chunk}.parts`),
        redis.hlen(failures),
        redis.hlen(find),
      ]),
    );
    // Each part has left a failure, or the record of what became of it.
    const length = Math.min(Number(parts ?? 0), failureCount + foundCount) + 1;
    const names = Array.from({ length }, (_, part) =>
      part === 0 ? String(chunk) : `${chunk}.${part}`,
    );
    const [failed, became] = await translated(
      Promise.all([
        redis.hmget(failures, ...names),
        redis.hmget(find, ...names.map((name) => `>${name}`)),
      ]),
    );
    if (state !== 'settled' && state !== 'none') {
      const size = Number(kept ?? batch.chunkSize);
      places.push({ chunk, name: String(chunk), state: openState(batch, state), size, at });
    }
    for (const [index, name] of names.entries()) {
      const failure = failed[index];
      const [word = '', size] = became[index]?.split(' ') ?? [];
      if (typeof failure === 'string') {
        places.push({ ...(JSON.parse(failure) as FailureRecord), chunk, name });
      } else if (word === 'accepted' || word === 'cancelled') {
        places.push({ chunk, state: word, size: Number(size), at });
      } else if (/^\d+$/.test(word) && Number(word) > chunk) chunks.push(Number(word));
    }
  }
  return places;
}

/** State of the contacts of a chunk that is not settled; in a cancelled batch it may be final. */
function openState({ phase }: Batch, state: ChunkState): FoundState {
  if (phase !== 'cancelled') return 'pending';
  if (state === 'pending') return 'cancelled';
  return state === 'pending-possibly-sent' ? 'unknown' : 'pending';
}

/** Undefined if they cannot be read: deleted meanwhile, or encrypted with an unknown key. */
async function contactsOf(
  { ledger, sealing = NO_SEALING }: BatchSearchContext,
  batch: string,
  name: string | undefined,
): Promise<readonly { readonly contact?: unknown }[] | undefined> {
  const payload = name === undefined ? undefined : await ledger.payload(batch, name);
  if (payload === undefined) return undefined;
  return decodeContacts(payload, batchSeal(sealing, batch)).catch(() => undefined);
}
