import type { Ledger } from '../batch/ledger/ledger.ts';
import type { Contact } from '../contracts/notice.ts';
import type { DeliveryPolicy } from '../contracts/outcome.ts';
import { countEnded, readEnded, type STAGES } from '../notices/ended.ts';
import type { NoticeSource } from '../notices/read-job.ts';
import { settleAgain } from '../notices/send-again.ts';
import { allEnded, type EndedHead } from '../notices/select-ended.ts';
import { contactsOfJob } from '../payload/sealed-job.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';

/** A single notice whose outcome is unknown. */
export interface UnknownNotice {
  readonly id: string;
  /** When it became unknown: Redis time, milliseconds since the epoch. */
  readonly at: number;
  readonly template: string;
  /** How many. */
  readonly contacts: number;
  readonly code: string;
  /** The last known stage of its last attempt. */
  readonly stage: (typeof STAGES)[number];
  readonly delivery: DeliveryPolicy;
  /** How many of its attempts, also before it was sent again, the service may have accepted. */
  readonly possiblySent: number;
  /** The service's trace ids for those of them that it answered, oldest first; absent without any. */
  readonly traceIds?: readonly string[];
}

/** The facts of an unknown notice, out of its entry. */
function unknownView(ended: EndedHead): UnknownNotice {
  const { id, at, template, contacts, code, stage = 'started', possiblySent, traceIds } = ended;
  const delivery = ended.delivery ?? 'at-least-once';
  const traces = traceIds === undefined ? {} : { traceIds };
  return { id, at, template, contacts, code, stage, delivery, possiblySent, ...traces };
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
  source: { ledger: Pick<Ledger, 'list'>; redis: RedisClient; keys: Keys },
  max: { readonly notices: number; readonly batches: number },
): Promise<UnknownOverview> {
  const { ledger, redis, keys } = source;
  try {
    const [found, listed, kept] = await Promise.all([
      allEnded(source, { state: 'unknown' }, { most: max.notices, oldestFirst: true }),
      countEnded(redis, keys, ['unknown']),
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
    return { notices: found.map(unknownView), listed, batches, allBatches };
  } catch (error) {
    throw redisFailure(error);
  }
}

/**
 * Lists the notices whose outcome is unknown and that match, oldest first; or those of the ids, in their order.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED, or PAYLOAD_UNREADABLE where they are selected by number
 */
export async function listUnknownNotices(
  source: NoticeSource,
  { code, template, before, number }: UnknownFilter = {},
  ids?: readonly string[],
): Promise<UnknownNotice[]> {
  const { redis, keys } = source;
  await settleAgain(redis, keys).catch((error: unknown) => {
    throw redisFailure(error);
  });
  const select = { state: 'unknown', code, template, before, number, ids } as const;
  return (await allEnded(source, select, { oldestFirst: true })).map(unknownView);
}

/**
 * The contacts of notices that are not accepted, in the order of the notices.
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
    const ids = notices.map(({ id }) => id);
    const entries = new Map((await readEnded(redis, keys, ids)).map((one) => [one.id, one.data]));
    return ids.map((id) => open(entries.get(id), id, sealing));
  } catch (error) {
    throw redisFailure(error);
  }
}
