import type { CancelSignal } from '../contracts/token.ts';
import { searchChunks, type FingerprintHit } from '../number-index/chunk-fingerprints.ts';
import { storedEntries, type WrittenEntry } from '../number-index/notice-number-index.ts';
import { findKey, hashNumber } from '../number-index/number-key.ts';
import { redisFailure } from '../redis/failure.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { storedContacts, type ContactSource, type ContactsWithNumber } from './stored-contacts.ts';
import { storedNotices, type NoticeWithNumber } from './stored-notices.ts';

/** Where a person's data is stored. */
export interface EraseContext extends ContactSource {
  readonly redis: RedisClient;
  readonly keys: Keys;
  readonly settings: {
    /** FIND_KEY; without it the search index is neither read nor changed. */
    readonly findKey?: string | undefined;
    readonly keepFailedMs: number;
  };
}

/** What is stored about a number. */
export interface StoredAboutNumber {
  readonly notices: readonly NoticeWithNumber[];
  readonly contacts: readonly ContactsWithNumber[];
  /** Batches that are being imported: the rest of the list may contain the number. */
  readonly importing: readonly string[];
  /** What cannot be decrypted; it may contain the number. */
  readonly unreadable: { readonly notices: number; readonly chunks: number };
  /** Entries of the search index; undefined without FIND_KEY. */
  readonly index: StoredInIndex | undefined;
}

/** Entries of the search index about a number. */
export interface StoredInIndex {
  readonly hash: Buffer;
  /** Of single notices. */
  readonly entries: readonly WrittenEntry[];
  readonly batches: readonly { readonly batch: string; readonly hits: readonly FingerprintHit[] }[];
}

/**
 * Reads everything that is stored about a number: all jobs of single notices, and all contacts of batches that are
 * kept. It changes nothing.
 *
 * @param number digits only
 * @param signal ends it early, with what was found so far
 */
export async function findStored(
  context: EraseContext,
  number: string,
  signal?: CancelSignal,
): Promise<StoredAboutNumber> {
  const { redis, keys, settings } = context;
  const unreadable = { notices: 0, chunks: 0 };
  const notices: NoticeWithNumber[] = [];
  const contacts: ContactsWithNumber[] = [];
  const importing: string[] = [];
  const secret = settings.findKey;
  const hash = secret === undefined ? undefined : hashNumber(findKey(secret), number);
  const batches: { batch: string; hits: readonly FingerprintHit[] }[] = [];
  try {
    for await (const one of storedNotices(context, number, () => unreadable.notices++, signal)) {
      notices.push(one);
    }
    for await (const { id, chunks, importedAt } of context.ledger.all()) {
      if (signal?.aborted === true) break;
      if (importedAt === 0) importing.push(id);
      const before = unreadable.chunks;
      const found = storedContacts(context, id, number, () => unreadable.chunks++, signal);
      for await (const one of found) contacts.push(one);
      if (hash === undefined) continue;
      const { hits } = await searchChunks(redis, keys.batchFind(id), chunks, hash);
      // What leads to contacts that cannot be read stays.
      if (hits.length > 0 && unreadable.chunks === before) batches.push({ batch: id, hits });
    }
    if (hash === undefined) {
      return { notices, contacts, importing, unreadable, index: undefined };
    }
    const entries = await storedEntries(redis, keys, hash, settings.keepFailedMs, Date.now());
    return { notices, contacts, importing, unreadable, index: { hash, entries, batches } };
  } catch (error) {
    throw redisFailure(error);
  }
}
