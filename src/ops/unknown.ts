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

/** What is unknown of a batch. */
export interface UnknownOfBatch {
  readonly batch: string;
  readonly template: string;
  /** When the oldest of it became unknown. */
  readonly at: number;
  readonly contacts: number;
  /** Chunks and parts of chunks they stand in: each is resolved as a whole. */
  readonly parts: number;
  /** Codes that occur, the most contacts first. */
  readonly codes: readonly string[];
}

/** Notices that became unknown before a time, of any age when left out. */
export interface UnknownFilter {
  /** Milliseconds since the epoch. */
  readonly before?: number | undefined;
}

/** Ids asked for at a time. */
const PAGE = 500;

/** What is unknown, as far as it was looked at. */
export interface UnknownOverview {
  /** The oldest ones, the oldest first. */
  readonly notices: readonly UnknownNotice[];
  /** How many notices are listed in all. */
  readonly listed: number;
  /** Of the newest batches; their contacts are counted, their failures not looked at. */
  readonly batches: readonly (Pick<UnknownOfBatch, 'batch' | 'template' | 'contacts'> & {
    readonly begunAt: number;
  })[];
}

/**
 * What people have to decide on, at a price that does not grow with it.
 *
 * @param most notices, and batches that are looked at
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function readUnknownOverview(
  { ledger, redis, keys }: { ledger: Pick<Ledger, 'list'>; redis: RedisClient; keys: Keys },
  most: { readonly notices: number; readonly batches: number },
): Promise<UnknownOverview> {
  const { unknownAt } = keys.intents;
  try {
    const [ids, listed, kept] = await Promise.all([
      redis.zrange(unknownAt, '0', String(most.notices - 1)),
      redis.zcard(unknownAt),
      ledger.list(most.batches),
    ]);
    const batches = kept
      // What a cancelled batch has in doubt is counted, and nobody can decide on it any more.
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
 * The notices whose outcome is unknown, the oldest first. An entry whose job is not among the failed
 * ones is left out: BullMQ has not heard yet, or somebody took the job out of the queue.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function listUnknownNotices(
  redis: RedisClient,
  keys: Keys,
  { before = Infinity }: UnknownFilter = {},
): Promise<UnknownNotice[]> {
  const { unknownAt } = keys.intents;
  const most = Number.isFinite(before) ? `(${before}` : '+inf';
  const notices: UnknownNotice[] = [];
  try {
    const ids = await redis.zrangebyscore(unknownAt, '-inf', most);
    for (let from = 0; from < ids.length; from += PAGE) {
      notices.push(...(await readUnknown(redis, keys, ids.slice(from, from + PAGE))));
    }
    return notices;
  } catch (error) {
    throw redisFailure(error);
  }
}

/** Those of the ids that are listed as unknown, and whose jobs failed. */
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
    const { at, template, contacts, code, stage, delivery } = JSON.parse(text) as UnknownNotice;
    return [{ id, at, template, contacts, code, stage, delivery }];
  });
}

/**
 * What is unknown of one batch; undefined where nothing is. Contacts in doubt of a batch that was
 * cancelled are not among it: they are counted, and nobody can decide on them any more.
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

/** A batch's unknown failures that are meant. */
export async function* unknownFailures(
  ledger: Pick<Ledger, 'failures'>,
  id: string,
  { before = Infinity }: UnknownFilter,
): AsyncGenerator<FailureRecord> {
  for await (const failure of selectFailures(ledger, id, { state: 'unknown' })) {
    if (failure.at < before) yield failure;
  }
}
