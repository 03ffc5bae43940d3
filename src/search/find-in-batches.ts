import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import type { Batch } from '../batch/ledger/batch-record.ts';
import { searchChunks, type FingerprintHit } from '../number-index/chunk-fingerprints.ts';
import type { ChunkState } from '../batch/ledger/chunk-state.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import type { FailureRecord } from '../batch/ledger/ledger-reader.ts';
import { decodeContacts } from '../batch/payload/payload.ts';
import type { PayloadKey } from '../batch/payload/payload-key.ts';

/** What may have become of a contact. */
export type FoundState = 'pending' | 'accepted' | 'rejected' | 'unknown' | 'expired' | 'cancelled';

/** A contact of a batch that has the number, or probably has it. */
export interface FoundContact {
  readonly batch: string;
  readonly template: string;
  /** The chunk in which it stands, or stood last. */
  readonly chunk: number;
  /** What became of it; several where it is one of these. */
  readonly states: readonly FoundState[];
  /** The contact itself was read. Else its print was found, and its contacts are deleted by now. */
  readonly confirmed: boolean;
  /** When it failed, or else when its batch was begun. Redis time, milliseconds since the epoch. */
  readonly at: number;
  /** Why it was not accepted: the service's code, or one of ours. */
  readonly code?: string;
}

/** What a look through the batches found. */
export interface BatchSearch {
  readonly found: readonly FoundContact[];
  readonly batches: number;
  /** Contacts whose prints were looked through. */
  readonly contacts: number;
  /** Chunks that could not be looked through: without an index, or their retention has ended. */
  readonly unindexed: number;
}

/** The newest batches that are looked through. */
const LOOKED_AT = 1_000;

/** What a search in batches stands on. */
export interface BatchSearchContext {
  readonly redis: RedisClient;
  readonly keys: Keys;
  readonly ledger: Ledger;
  /** Open the contacts that are still there. */
  readonly payloadKeys: readonly PayloadKey[];
}

/**
 * Looks for a number in the batches that are kept, the newest first. It scans no jobs and reads no
 * contacts but those of chunks in which the number's print stands: one command for each batch, and
 * one for each 200 of its chunks.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function findInBatches(
  parts: BatchSearchContext,
  number: string,
  hash: Buffer,
): Promise<BatchSearch> {
  const batches = await parts.ledger.list(LOOKED_AT);
  const found: FoundContact[] = [];
  let [contacts, unindexed] = [0, 0];
  for (const batch of batches) {
    const find = parts.keys.batchFind(batch.id);
    const search = await ask(() => searchChunks(parts.redis, find, batch.chunks, hash));
    contacts += search.contacts;
    unindexed += search.unindexed;
    for (const hit of search.hits) {
      const contact = await whatBecame(parts, batch, hit, number);
      if (contact !== undefined) found.push(contact);
    }
  }
  return { found, batches: batches.length, contacts, unindexed };
}

/** Contacts of a chunk that may still be there: those of a chunk that is not over, or of a failure. */
interface ContactPlace {
  readonly chunk: number;
  readonly name: string;
  readonly state: FoundState;
  readonly size: number;
  readonly at: number;
  readonly code?: string;
}

/**
 * What became of the contact in a chunk, by reading what is left of the chunk's contacts.
 *
 * Where the number stands among them, that is confirmed. Where all of them are left and it does not,
 * its print is another number's. Else it is among those that are gone: accepted, or what a person
 * decided.
 */
async function whatBecame(
  parts: BatchSearchContext,
  batch: Batch,
  { chunk, size }: FingerprintHit,
  number: string,
): Promise<FoundContact | undefined> {
  const { id: name, templateCode: template, begunAt } = batch;
  const left = await whatIsLeft(parts, batch, chunk);
  let gone = size;
  const states = new Set<FoundState>();
  for (const place of left.places) {
    const contacts = await contactsOf(parts, name, place);
    gone -= contacts?.length ?? place.size;
    if (contacts === undefined) states.add(place.state);
    else if (contacts.some(({ contact }) => contact === number)) {
      const { chunk, state, at, code } = place;
      const why = code === undefined || code === '' ? {} : { code };
      return { batch: name, template, chunk, states: [state], confirmed: true, at, ...why };
    }
  }
  for (const { as, size } of left.decided) {
    states.add(as);
    gone -= size;
  }
  if (gone > 0) states.add('accepted');
  if (states.size === 0) return undefined;
  return { batch: name, template, chunk, states: [...states], confirmed: false, at: begunAt };
}

/** Contacts a person decided on: they are not kept. */
interface Decided {
  readonly as: 'accepted' | 'cancelled';
  readonly size: number;
}

/** Follows a chunk through its failures, to those that were redriven, and theirs. */
async function whatIsLeft(
  { redis, keys, ledger }: BatchSearchContext,
  batch: Batch,
  first: number,
): Promise<{ readonly places: readonly ContactPlace[]; readonly decided: readonly Decided[] }> {
  const { sizes, failures } = keys.batch(batch.id);
  const find = keys.batchFind(batch.id);
  const places: ContactPlace[] = [];
  const decided: Decided[] = [];
  const chunks = [first];
  // Those that a redrive made are added on the way; their numbers only grow.
  for (const chunk of chunks.values()) {
    const [state = 'none'] = await ledger.states(batch.id, chunk, chunk + 1);
    const [kept, parts] = await ask(() => redis.hmget(sizes, String(chunk), `${chunk}.parts`));
    const names = Array.from({ length: Number(parts ?? 0) + 1 }, (_, part) =>
      part === 0 ? String(chunk) : `${chunk}.${part}`,
    );
    const [failed, became] = await ask(() =>
      Promise.all([
        redis.hmget(failures, ...names),
        redis.hmget(find, ...names.map((name) => `>${name}`)),
      ]),
    );
    if (state !== 'settled' && state !== 'none') {
      const size = Number(kept ?? batch.chunkSize);
      const open = openState(batch, state);
      places.push({ chunk, name: String(chunk), state: open, size, at: batch.begunAt });
    }
    for (const [index, name] of names.entries()) {
      const failure = failed[index];
      const next = became[index];
      if (typeof failure === 'string') {
        const { state, size, at, code } = JSON.parse(failure) as FailureRecord;
        places.push({ chunk, name, state, size, at, code });
      } else if (typeof next === 'string') {
        const [word = '', size] = next.split(' ');
        if (word === 'accepted' || word === 'cancelled')
          decided.push({ as: word, size: Number(size) });
        else if (/^\d+$/.test(word)) chunks.push(Number(word));
      }
    }
  }
  return { places, decided };
}

/** What a chunk that is not settled means for its contacts; in a cancelled batch it may be over. */
function openState({ phase }: Batch, state: ChunkState): FoundState {
  if (phase !== 'cancelled') return 'pending';
  if (state === 'pending') return 'cancelled';
  return state === 'pending-possibly-sent' ? 'unknown' : 'pending';
}

/** Undefined where they cannot be read: deleted meanwhile, or sealed with a key that is not at hand. */
async function contactsOf(
  { ledger, payloadKeys }: BatchSearchContext,
  batch: string,
  { name }: ContactPlace,
): Promise<readonly { readonly contact?: unknown }[] | undefined> {
  const payload = await ledger.payload(batch, name);
  if (payload === undefined) return undefined;
  return decodeContacts(payload, payloadKeys).catch(() => undefined);
}

async function ask<Reply>(command: () => Promise<Reply>): Promise<Reply> {
  try {
    return await command();
  } catch (error) {
    throw redisFailure(error);
  }
}
