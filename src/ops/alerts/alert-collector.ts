import { readBatchEvents, type BatchEvent } from '../../batch/ledger/batch-events.ts';
import { Ledger } from '../../batch/ledger/ledger.ts';
import { nearEndOfRetention } from '../../batch/ledger/retention.ts';
import type { RedisClient } from '../../redis/connect.ts';
import type { Keys } from '../../redis/keys.ts';
import { redisFailure } from '../../redis/failure.ts';
import { readNoticeOutcomes } from '../../traffic/read-traffic.ts';
import { FleetReader, nearFailedNotices } from '../snapshot.ts';
import type {
  AlertMemory,
  KeptSnapshot,
  NearSnapshot,
  NoticeEnds,
  AlertSnapshot,
} from './alert-snapshot.ts';

/** How often batches are read for what is kept in them, in milliseconds: a command for each batch. */
const KEPT_EVERY_MS = 60_000;

/** The time of which failing notices are counted, in milliseconds. */
const FAILING_MS = 600_000;

/** Batch events in one read, and reads in one round: more than the stream keeps. */
const EVENTS_PER_READ = 500;
const READS_PER_ROUND = 30;

/** Collects what alerts are judged by, with some twenty commands and one for each 500 batch events; none scans. */
export class AlertCollector {
  readonly #redis: RedisClient;
  readonly #keys: Keys;
  readonly #fleet: FleetReader;
  readonly #ledger: Ledger;
  readonly #keepFailedMs: number;

  /** @param keepFailedMs KEEP_FAILED_MS */
  constructor(redis: RedisClient, keys: Keys, keepFailedMs: number) {
    this.#redis = redis;
    this.#keys = keys;
    this.#fleet = new FleetReader({ redis, keys });
    this.#ledger = new Ledger(redis, keys);
    this.#keepFailedMs = keepFailedMs;
  }

  /**
   * @param memory of the round before
   * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
   */
  async collect(memory: AlertMemory | undefined): Promise<AlertSnapshot> {
    const [snapshot, events] = await Promise.all([
      this.#fleet.read(
        'now',
        'hold',
        'workers',
        'unknownNotices',
        'redis',
        'noticeJobs',
        'chunkJobs',
      ),
      this.#events(memory?.cursor),
    ]);
    const { now, hold, workers, unknownNotices, redis, noticeJobs, chunkJobs } = snapshot;
    const due = now - (memory?.keptSeenAt ?? 0) >= KEPT_EVERY_MS;
    return {
      now,
      hold,
      workers: workers.length,
      waiting: noticeJobs.waiting + chunkJobs.waiting,
      unknownNotices,
      ends: await this.#ends(now),
      memory: { used: redis.usedBytes, limit: redis.maxBytes || redis.machineBytes },
      batchEvents: events.events,
      cursor: events.cursor,
      ...(due ? { kept: await this.#kept(now) } : {}),
    };
  }

  async close(): Promise<void> {
    await this.#fleet.close();
  }

  async #events(
    from: string | undefined,
  ): Promise<{ readonly events: readonly BatchEvent[]; readonly cursor: string }> {
    const events: BatchEvent[] = [];
    let cursor = from;
    for (let read = 0; read < READS_PER_ROUND; read++) {
      const page = await readBatchEvents(this.#redis, this.#keys, cursor, EVENTS_PER_READ);
      events.push(...page.events);
      const end = page.cursor === cursor || cursor === undefined;
      cursor = page.cursor;
      if (end) break;
    }
    return { events, cursor: cursor ?? '0' };
  }

  /** What failed is kept, and so counted exactly; the others are counted by attempts. */
  async #ends(now: number): Promise<NoticeEnds> {
    const { failedNotices, intents } = this.#keys;
    const since = now - FAILING_MS;
    try {
      const [failed, unknown, outcomes] = await Promise.all([
        this.#redis.zcount(failedNotices, since, '+inf'),
        this.#redis.zcount(intents.unknownAt, since, '+inf'),
        readNoticeOutcomes(this.#redis, this.#keys, now),
      ]);
      return { ...outcomes, unknown, rejected: Math.max(0, failed - unknown) };
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async #kept(now: number): Promise<KeptSnapshot> {
    const near: NearSnapshot[] = [];
    let unknownContacts = 0;
    for await (const batch of this.#ledger.all()) {
      unknownContacts += batch.counts.unknown;
      const end = nearEndOfRetention(batch, now);
      if (end === undefined) continue;
      near.push({ batch: batch.id, count: end.contacts, keptUntil: end.keptUntil });
    }
    const failed = await nearFailedNotices(this.#redis, this.#keys, this.#keepFailedMs, now);
    if (failed !== undefined) near.push({ batch: '', ...failed });
    return { unknownContacts, near };
  }
}
