import type { Queue } from 'bullmq';
import { readBatchEvents, type BatchEvent } from '../../batch/ledger/batch-events.ts';
import { Ledger } from '../../batch/ledger/ledger.ts';
import { nearEnd, nearEndOfRetention } from '../../batch/ledger/retention.ts';
import { readWorkers } from '../../fleet/heartbeat.ts';
import { readHold } from '../../fleet/hold/hold-gate.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { CHUNK_QUEUE_NAME, QUEUE_NAME, type Keys } from '../../redis/keys.ts';
import { openBullQueue } from '../../redis/open-queue.ts';
import type { AlertMemory, KeptSnapshot, NearSnapshot, AlertSnapshot } from './alert-snapshot.ts';

/** What is kept is looked at so often: it costs a command for each batch. */
const KEPT_EVERY_MS = 60_000;

/** The newest batches that are looked at. */
const LOOKED_AT = 1_000;

/** Events of batches that are read at a time, and how often in one look. */
const EVENTS_PER_READ = 200;
const READS_PER_LOOK = 5;

/** Sees what alerts are judged by: some twenty commands, none of which scans. */
export class AlertCollector {
  readonly #redis: RedisClient;
  readonly #keys: Keys;
  readonly #ledger: Ledger;
  readonly #keepFailedMs: number;
  readonly #queues: readonly Queue[];

  /** @param keepFailedMs KEEP_FAILED_MS */
  constructor(redis: RedisClient, keys: Keys, keepFailedMs: number) {
    this.#redis = redis;
    this.#keys = keys;
    this.#ledger = new Ledger(redis, keys);
    this.#keepFailedMs = keepFailedMs;
    this.#queues = ([QUEUE_NAME, CHUNK_QUEUE_NAME] as const).map((name) =>
      openBullQueue(name, redis, keys),
    );
  }

  /** @param memory of the look before */
  async look(memory: AlertMemory | undefined): Promise<AlertSnapshot> {
    const redis = this.#redis;
    const keys = this.#keys;
    const [[seconds], hold, workers, unknownNotices, memoryInfo, waiting, events] =
      await Promise.all([
        redis.time(),
        readHold(redis, keys),
        readWorkers(redis, keys),
        redis.zcard(keys.intents.unknownAt),
        redis.info('memory'),
        Promise.all(
          this.#queues.map((queue) => queue.getJobCountByTypes('waiting', 'prioritized')),
        ),
        this.#events(memory?.cursor),
      ]);
    const now = Number(seconds) * 1_000;
    const due = now - (memory?.keptSeenAt ?? 0) >= KEPT_EVERY_MS;
    return {
      now,
      hold,
      workers: workers.length,
      waiting: waiting.reduce((sum, count) => sum + count, 0),
      unknownNotices,
      memory: memoryOf(memoryInfo),
      batchEvents: events.events,
      cursor: events.cursor,
      ...(due ? { kept: await this.#kept(now) } : {}),
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#queues.map((queue) => queue.close().catch(() => {})));
  }

  async #events(
    from: string | undefined,
  ): Promise<{ readonly events: readonly BatchEvent[]; readonly cursor: string }> {
    const events: BatchEvent[] = [];
    let cursor = from;
    for (let read = 0; read < READS_PER_LOOK; read++) {
      const page = await readBatchEvents(this.#redis, this.#keys, cursor, EVENTS_PER_READ);
      events.push(...page.events);
      const end = page.cursor === cursor || cursor === undefined;
      cursor = page.cursor;
      if (end) break;
    }
    return { events, cursor: cursor ?? '0' };
  }

  async #kept(now: number): Promise<KeptSnapshot> {
    const batches = await this.#ledger.list(LOOKED_AT);
    const near: NearSnapshot[] = batches.flatMap((batch) => {
      const end = nearEndOfRetention(batch, now);
      if (end === undefined) return [];
      return [{ batch: batch.id, count: end.contacts, keptUntil: end.keptUntil }];
    });
    const { failedNotices } = this.#keys;
    const [[, oldest], failed] = await Promise.all([
      this.#redis.zrange(failedNotices, 0, '0', 'WITHSCORES'),
      this.#redis.zcard(failedNotices),
    ]);
    if (oldest !== undefined) {
      const keptUntil = Number(oldest) + this.#keepFailedMs;
      if (nearEnd(keptUntil, this.#keepFailedMs, now)) {
        near.push({ batch: '', count: failed, keptUntil });
      }
    }
    const unknownContacts = batches.reduce((sum, { counts }) => sum + counts.unknown, 0);
    return { unknownContacts, near };
  }
}

/** Its own limit; where it has none, what the machine has. */
function memoryOf(info: string): AlertSnapshot['memory'] {
  const field = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  return { used: field('used_memory'), limit: field('maxmemory') || field('total_system_memory') };
}
