import { formsOf } from '../format/country.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import type { Contact } from '../contracts/notice.ts';
import { earlierRuns, earlierSends } from '../notices/notice-state.ts';
import { EARLIER_FIELD } from '../notices/job-lua.ts';
import type { NoticeSource } from '../notices/read-job.ts';
import { contactsOfJob } from '../payload/sealed-job.ts';
import { Intents, type UnknownFacts } from '../fleet/intents/intents.ts';
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

/** Selects unknown outcomes; a field that is undefined matches all. */
export interface UnknownFilter {
  /** The service's code, or one of ours. */
  readonly code?: string | undefined;
  readonly template?: string | undefined;
  /** Only contacts of this batch. */
  readonly batch?: string | undefined;
  /** Only contacts of this chunk of the batch. */
  readonly chunk?: number | undefined;
  /** Only what became unknown before: milliseconds since the epoch. */
  readonly before?: number | undefined;
  /** Only what contains this phone number: digits only. */
  readonly number?: string | undefined;
}

/** What a filter compares of an unknown outcome. */
interface Compared {
  readonly code: string;
  readonly template: string;
  readonly at: number;
}

/** Whether a filter matches an unknown outcome, its batch, chunk and number left aside. */
export function matchesUnknown(
  { code, template, before = Infinity }: UnknownFilter,
  found: Compared,
): boolean {
  return (
    found.at < before &&
    (code === undefined || found.code === code) &&
    (template === undefined || found.template === template)
  );
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
  readonly batches: readonly {
    readonly batch: string;
    readonly template: string;
    readonly contacts: number;
    /** When its import started: milliseconds since the epoch. */
    readonly begunAt: number;
  }[];
  /** Whether no older batches are kept than those that were read. */
  readonly allBatches: boolean;
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
      .filter(({ counts }) => counts.unknown > 0)
      .map(({ id, templateCode, counts, begunAt }) => ({
        batch: id,
        template: templateCode,
        contacts: counts.unknown,
        begunAt,
      }));
    const allBatches = kept.length < max.batches;
    return { notices: await readUnknown(redis, keys, ids), listed, batches, allBatches };
  } catch (error) {
    throw redisFailure(error);
  }
}

/**
 * Lists the notices whose outcome is unknown and that match, oldest first. An entry whose job is not among the
 * failed ones is left out: BullMQ has not recorded the failure yet, or the job was removed from the queue.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function listUnknownNotices(
  source: NoticeSource,
  filter: UnknownFilter = {},
): Promise<UnknownNotice[]> {
  const { redis, keys } = source;
  const { before = Infinity } = filter;
  const max = Number.isFinite(before) ? `(${before}` : '+inf';
  const notices: UnknownNotice[] = [];
  try {
    const ids = await redis.zrangebyscore(keys.intents.unknownAt, '-inf', max);
    for (let from = 0; from < ids.length; from += PAGE) {
      const some = await readUnknown(redis, keys, ids.slice(from, from + PAGE));
      notices.push(...(await matchingNotices(source, some, filter)));
    }
    return notices;
  } catch (error) {
    throw redisFailure(error);
  }
}

/** Those of the notices that match a filter, in their order. */
export async function matchingNotices(
  source: NoticeSource,
  notices: readonly UnknownNotice[],
  filter: UnknownFilter,
): Promise<UnknownNotice[]> {
  const { number } = filter;
  const found = notices.filter((notice) => matchesUnknown(filter, notice));
  if (number === undefined) return found;
  const contacts = await readContacts(source, found);
  const forms = formsOf(number);
  return found.filter((_, index) =>
    contacts[index]?.some(({ contact }) => forms.includes(contact)),
  );
}

/**
 * The contacts of notices' jobs that are not accepted, in the order of the notices.
 *
 * @param open reads them in the data of a job. Default: contactsOfJob
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED, or PAYLOAD_UNREADABLE if one cannot be decrypted
 */
export async function readContacts(
  { redis, keys, sealing }: NoticeSource,
  notices: readonly Pick<UnknownNotice, 'id'>[],
  open = contactsOfJob,
): Promise<(readonly Contact[])[]> {
  try {
    const read = notices.map(({ id }) => redis.hget(keys.noticeJob(id), 'data'));
    return (await Promise.all(read)).map((text, index) =>
      open(text, notices[index]?.id ?? '', sealing),
    );
  } catch (error) {
    throw redisFailure(error);
  }
}

/**
 * Reads those of the ids that are listed as unknown and whose jobs have failed, with what was possibly sent before they
 * were sent again. Of the others, the entries are removed that no longer say anything: they
 * would be counted for as long as failed notices are kept.
 */
export async function readUnknown(
  redis: RedisClient,
  keys: Keys,
  ids: readonly string[],
): Promise<UnknownNotice[]> {
  if (ids.length === 0) return [];
  // In this order: what is sent again meanwhile has left the list when that is read.
  const [earlier, failed, kept] = await Promise.all([
    Promise.all(ids.map((id) => redis.hget(keys.noticeJob(id), EARLIER_FIELD))),
    redis.zmscore(keys.failedNotices, ...ids),
    redis.hmget(keys.intents.unknown, ...ids),
  ]);
  const isFailed = (index: number) => typeof failed[index] === 'string';
  const others = ids.filter((_, index) => typeof kept[index] === 'string' && !isFailed(index));
  if (others.length > 0) await new Intents(redis, keys).forgetStale(others);
  return ids.flatMap((id, index) => {
    const text = kept[index];
    if (text === null || text === undefined || !isFailed(index)) return [];
    // Earlier versions did not count its attempts.
    const { possiblySent: own = 1, ...facts } = JSON.parse(text) as Omit<
      UnknownNotice,
      'possiblySent'
    > &
      Partial<UnknownNotice>;
    const { at, template, contacts, code, stage, delivery, traceId } = facts;
    const before = earlierSends(earlierRuns(earlier[index]));
    const possiblySent = before.possiblySent + own;
    const earlierTraceIds = [...before.traceIds, ...(facts.earlierTraceIds ?? [])];
    const traces = {
      ...(traceId === undefined ? {} : { traceId }),
      ...(earlierTraceIds.length === 0 ? {} : { earlierTraceIds }),
    };
    return [{ id, at, template, contacts, code, stage, delivery, possiblySent, ...traces }];
  });
}
