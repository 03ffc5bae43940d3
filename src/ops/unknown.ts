import type { Batch } from '../batch/ledger/batch-record.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import type { FailureRecord } from '../batch/ledger/ledger-reader.ts';
import { selectFailures } from '../batch/failures/select-failures.ts';
import type { UnknownFacts } from '../fleet/intents/intents.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';

/** A single notice whose outcome is unknown. */
export interface UnknownNotice extends UnknownFacts {
  /** Id of its job. */
  readonly id: string;
  /** When it became unknown: Redis time, milliseconds since the epoch. */
  readonly at: number;
}

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

/** Selects what became unknown before a time. */
export interface UnknownFilter {
  /** Milliseconds since the epoch. Default: no limit. */
  readonly before?: number | undefined;
}

/** Ids per read. */
const PAGE = 500;

/** Unknown outcomes, as far as they were read. */
export interface UnknownOverview {
  /** The oldest notices, oldest first. */
  readonly notices: readonly UnknownNotice[];
  /** Number of listed notices in all. */
  readonly listed: number;
  /** Batches with unknown contacts among the newest; their failures are not read. */
  readonly batches: readonly (Pick<UnknownOfBatch, 'batch' | 'template' | 'contacts'> & {
    /** When its import started: milliseconds since the epoch. */
    readonly begunAt: number;
  })[];
}

/**
 * Reads what people have to resolve; the cost does not grow with its amount.
 *
 * @param max notices and batches that are read
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function readUnknownOverview(
  { ledger, redis, keys }: { ledger: Pick<Ledger, 'list'>; redis: RedisClient; keys: Keys },
  max: { readonly notices: number; readonly batches: number },
): Promise<UnknownOverview> {
  const { unknownAt } = keys.intents;
  try {
    const [ids, listed, kept] = await Promise.all([
      redis.zrange(unknownAt, '0', String(max.notices - 1)),
      redis.zcard(unknownAt),
      ledger.list(max.batches),
    ]);
    const batches = kept
      // The unknown contacts of a cancelled batch are only counted; they can no longer be resolved.
      .filter(({ phase, counts }) => counts.unknown > 0 && phase !== 'cancelled')
      .map(({ id, templateCode, counts, begunAt }) => ({
        batch: id,
        template: templateCode,
        contacts: counts.unknown,
        begunAt,
      }));
    return { notices: await readUnknown(redis, keys, ids), listed, batches };
  } catch (error) {
    throw redisFailure(error);
  }
}

/**
 * Lists the notices whose outcome is unknown, oldest first. An entry whose job is not among the failed
 * ones is left out: BullMQ has not recorded the failure yet, or the job was removed from the queue.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function listUnknownNotices(
  redis: RedisClient,
  keys: Keys,
  { before = Infinity }: UnknownFilter = {},
): Promise<UnknownNotice[]> {
  const { unknownAt } = keys.intents;
  const max = Number.isFinite(before) ? `(${before}` : '+inf';
  const notices: UnknownNotice[] = [];
  try {
    const ids = await redis.zrangebyscore(unknownAt, '-inf', max);
    for (let from = 0; from < ids.length; from += PAGE) {
      notices.push(...(await readUnknown(redis, keys, ids.slice(from, from + PAGE))));
    }
    return notices;
  } catch (error) {
    throw redisFailure(error);
  }
}

/** Reads those of the ids that are listed as unknown and whose jobs have failed. */
export async function readUnknown(
  redis: RedisClient,
  keys: Keys,
  ids: readonly string[],
): Promise<UnknownNotice[]> {
  if (ids.length === 0) return [];
  const [kept, failed] = await Promise.all([
    redis.hmget(keys.intents.unknown, ...ids),
    redis.zmscore(keys.failedNotices, ...ids),
  ]);
  return ids.flatMap((id, index) => {
    const text = kept[index];
    const isFailed = failed[index] !== null && failed[index] !== undefined;
    if (text === null || text === undefined || !isFailed) return [];
    // Earlier versions did not count its attempts.
    const { possiblySent = 1, ...facts } = JSON.parse(text) as Omit<UnknownNotice, 'possiblySent'> &
      Partial<UnknownNotice>;
    const { at, template, contacts, code, stage, delivery } = facts;
    return [{ id, at, template, contacts, code, stage, delivery, possiblySent }];
  });
}

/**
 * Reads the unknown outcomes of one batch. Contacts that a cancelled batch left unknown are not among
 * them: they are only counted and can no longer be resolved.
 *
 * @returns undefined where there are none
 */
export async function unknownOfBatch(
  ledger: Pick<Ledger, 'failures'>,
  { id, templateCode, counts }: Pick<Batch, 'id' | 'templateCode' | 'counts'>,
  filter: UnknownFilter = {},
): Promise<UnknownOfBatch | undefined> {
  if (counts.unknown === 0) return undefined;
  const codes = new Map<string, number>();
  let [at, contacts, parts] = [Infinity, 0, 0];
  for await (const failure of unknownFailures(ledger, id, filter)) {
    at = Math.min(at, failure.at);
    contacts += failure.size;
    parts += 1;
    codes.set(failure.code, (codes.get(failure.code) ?? 0) + failure.size);
  }
  if (parts === 0) return undefined;
  const byContacts = [...codes].sort(([, a], [, b]) => b - a).map(([code]) => code);
  return { batch: id, template: templateCode, at, contacts, parts, codes: byContacts };
}

/** Yields the selected unknown failures of a batch. */
export async function* unknownFailures(
  ledger: Pick<Ledger, 'failures'>,
  id: string,
  { before = Infinity }: UnknownFilter,
): AsyncGenerator<FailureRecord> {
  for await (const failure of selectFailures(ledger, id, { state: 'unknown' })) {
    if (failure.at < before) yield failure;
  }
}
