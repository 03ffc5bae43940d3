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
  /** Of single notices. */
  readonly entries: readonly WrittenEntry[];
  readonly batches: readonly {
    readonly batch: string;
    readonly hash: Buffer;
    readonly hits: readonly FingerprintHit[];
  }[];
}

/**
 * Reads everything that is stored about a number: all single notices, and all contacts of batches that are kept. It
 * changes nothing.
 *
 * @param forms of the number: digits only
 * @param signal ends it early, with what was found so far
 */
export async function findStored(
  context: EraseContext,
  forms: readonly string[],
  signal?: CancelSignal,
): Promise<StoredAboutNumber> {
  const { redis, keys, settings } = context;
  const { findKey: secret, keepFailedMs } = settings;
  const hashes = secret === undefined ? [] : forms.map((form) => hashNumber(findKey(secret), form));
  const unreadable = { notices: 0, chunks: 0 };
  const notices: NoticeWithNumber[] = [];
  const contacts: ContactsWithNumber[] = [];
  const importing: string[] = [];
  const batches: { batch: string; hash: Buffer; hits: readonly FingerprintHit[] }[] = [];
  try {
    for await (const one of storedNotices(context, forms, () => unreadable.notices++, signal)) {
      notices.push(one);
    }
    for await (const { id, chunks, importedAt } of context.ledger.all()) {
      if (signal?.aborted === true) break;
      if (importedAt === 0) importing.push(id);
      const before = unreadable.chunks;
      const found = storedContacts(context, id, forms, () => unreadable.chunks++, signal);
      for await (const one of found) contacts.push(one);
      // What leads to contacts that cannot be read stays.
      if (unreadable.chunks > before) continue;
      for (const hash of hashes) {
        const { hits } = await searchChunks(redis, keys.batchFind(id), chunks, hash);
        if (hits.length > 0) batches.push({ batch: id, hash, hits });
      }
    }
    const entries: WrittenEntry[] = [];
    for (const hash of hashes) {
      entries.push(...(await storedEntries(redis, keys, hash, keepFailedMs, Date.now())));
    }
    const index = secret === undefined ? undefined : { entries, batches };
    return { notices, contacts, importing, unreadable, index };
  } catch (error) {
    throw redisFailure(error);
  }
}
