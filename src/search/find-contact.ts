import { checkNumber } from '../batch/source/check-number.ts';
import { FALSE_POSITIVE_RATE } from '../number-index/chunk-fingerprints.ts';
import { findInBatches, type FoundContact } from './find-in-batches.ts';
import { findKey, hashNumber } from '../number-index/number-key.ts';
import { Ledger } from '../batch/ledger/ledger.ts';
import { sealingOf, type Sealing } from '../payload/seal.ts';
import { workerVariables } from '../config/variables/worker.ts';
import { InputError } from '../contracts/errors.ts';
import { readQueueOptions, type NoticeQueueOptions } from '../producer/options.ts';
import type { RedisClient } from '../redis/connect.ts';
import { keysOf, type Keys } from '../redis/keys.ts';
import { withRedis } from '../redis/with-redis.ts';
import { findNotices, type FoundNotice } from './find-notices.ts';

/** What became of the notices for one phone number. It contains no phone numbers. */
export interface FindReport {
  /** Single notices, the newest first. */
  readonly notices: readonly FoundNotice[];
  /** Contacts of batches, the newest batch first. */
  readonly contacts: readonly FoundContact[];
  /** What was searched. */
  readonly searched: {
    /** Notices that were queued before this time are not found; milliseconds since the epoch. */
    readonly since: number;
    /** Number of batches. */
    readonly batches: number;
    /** Number of contacts of batches. */
    readonly contacts: number;
    /** Chunks that cannot be searched: stored without FIND_KEY, or too long ago. */
    readonly unindexedChunks: number;
    /** Probability (0 to 1) that an unconfirmed contact belongs to another number. */
    readonly wrongHit: number;
  };
}

/** Connection and settings of a search. */
export interface FindContext {
  readonly redis: RedisClient;
  readonly keys: Keys;
  readonly settings: {
    /** FIND_KEY; a search without it fails. */
    readonly findKey?: string | undefined;
    readonly findRetentionMs: number;
    readonly keepFailedMs: number;
  };
  /** Decrypts the contacts that are still stored. */
  readonly sealing: Sealing;
}

/** Options of {@link findContact}: those of the queue, with `findKey`, and two settings of the workers. */
export interface FindOptions extends NoticeQueueOptions {
  /** The former `payloadKey`, for batches that were imported before it changed. Variable PAYLOAD_KEY_PREVIOUS. */
  payloadKeyPrevious?: string | undefined;
  /**
   * How long the workers keep failed jobs, in milliseconds. Variable KEEP_FAILED_MS of the workers.
   * @default 604800000 (7 days)
   */
  keepFailedMs?: number | undefined;
}

const KEEP_FAILED_MS = workerVariables.keepFailedMs.def.defaultValue;

/**
 * Finds what became of the notices for one phone number: single notices and contacts of batches, as far
 * back as `findRetentionMs`. Opens a connection for this one search.
 *
 * @example
 * const { notices, contacts } = await findContact('01012345678', { findKey: process.env.FIND_KEY });
 * @param number a phone number in the national format; separators are removed
 * @throws InputError CONFIG_INVALID without `findKey`; NOTICE_INVALID if `number` is not a phone number
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function findContact(number: string, options: FindOptions): Promise<FindReport> {
  const { payloadKeyPrevious, keepFailedMs = KEEP_FAILED_MS, ...rest } = options;
  const settings = readQueueOptions(rest);
  const { redis: server, prefix, account, enqueueTimeoutMs } = settings;
  const keys = keysOf(prefix, account);
  const sealing = sealingOf(account, { ...settings, payloadKeyPrevious });
  const context = { keys, sealing, settings: { ...settings, keepFailedMs } };
  return withRedis(server, enqueueTimeoutMs, (redis) => findInQueue({ ...context, redis }, number));
}

/** Like {@link findContact}, on an existing connection. */
export async function findInQueue(
  { redis, keys, sealing, settings }: FindContext,
  number: string,
): Promise<FindReport> {
  const { findKey: secret, findRetentionMs, keepFailedMs } = settings;
  if (secret === undefined) {
    const problem =
      'is not set, so notices are not searchable: set the same 32 random bytes for producers, importers and searches; notices that are queued from then on can be found';
    throw new InputError('CONFIG_INVALID', [{ field: 'FIND_KEY', problem }]);
  }
  const checked = checkNumber(number);
  if (checked.kind === 'refused') {
    throw new InputError('NOTICE_INVALID', [{ field: 'number', problem: checked.reason }]);
  }
  const hash = hashNumber(findKey(secret), checked.number);
  const ledger = new Ledger(redis, keys);
  const since = Date.now() - findRetentionMs;
  const parts = { redis, keys, ledger, sealing };
  const notices = await findNotices(parts, checked.number, hash, {
    find: findRetentionMs,
    failed: keepFailedMs,
  });
  const batches = await findInBatches(parts, checked.number, hash);
  return {
    notices,
    contacts: batches.found,
    searched: {
      since,
      batches: batches.batches,
      contacts: batches.contacts,
      unindexedChunks: batches.unindexed,
      wrongHit: -Math.expm1(-batches.contacts * FALSE_POSITIVE_RATE),
    },
  };
}

/** The chance (0 to 1) that an unconfirmed result belongs to another number, as text. */
export function describeFalsePositiveRate(chance: number): string {
  const percent = chance * 100;
  return percent < 0.01 ? 'less than 0.01 %' : `${percent.toPrecision(2)} %`;
}
