import type { Batch } from '../batch/ledger/batch-record.ts';
import { motionOf } from '../batch/ledger/batch-motion.ts';
import { nearEndOfRetention } from '../batch/ledger/retention.ts';
import { Ledger } from '../batch/ledger/ledger.ts';
import type { SeenWorker } from '../fleet/heartbeat.ts';
import { VERSION } from '../contracts/version.ts';
import {
  nearFailedNotices,
  readFleet,
  type FleetSnapshot,
  type NearFailedNotices,
} from '../ops/snapshot.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';

/** The state of the queue, as it is judged. Times are milliseconds. */
export interface QueueSnapshot extends Pick<
  FleetSnapshot,
  'hold' | 'templateHolds' | 'sendWindows' | 'unknownNotices'
> {
  readonly workers: readonly SeenWorker[];
  /** Batches in which something waits or is unknown, or is about to be deleted; the newest first. */
  readonly batches: readonly Batch[];
  /** Those of them in which all that is left waits for its next attempt. */
  readonly backingOff: ReadonlySet<string>;
  /** The clock of this machine. */
  readonly now: number;
  /** Version of the program that judges. */
  readonly version: string;
  /** Single notices that wait. */
  readonly waiting: number;
  /** How long the oldest of them has waited; undefined where none waits. */
  readonly oldestWaitingMs: number | undefined;
  /** Failed single notices that are about to be deleted; undefined for none. */
  readonly nearFailed: NearFailedNotices | undefined;
}

/** @param keepFailedMs KEEP_FAILED_MS */
export async function readQueueSnapshot(
  redis: RedisClient,
  keys: Keys,
  keepFailedMs: number,
): Promise<QueueSnapshot> {
  const ledger = new Ledger(redis, keys);
  const { noticeJobs, noticeWaitingSince, ...facts } = await readFleet(
    { redis, keys },
    'hold',
    'templateHolds',
    'sendWindows',
    'workers',
    'unknownNotices',
    'noticeJobs',
    'noticeWaitingSince',
  );
  const now = Date.now();
  const batches: Batch[] = [];
  const backingOff = new Set<string>();
  for await (const batch of ledger.all()) {
    const { pending, unknown } = batch.counts;
    if (motionOf(batch, facts, now).stalled) {
      if ((await ledger.nextAttempt(batch)) !== undefined) backingOff.add(batch.id);
    }
    if (pending + unknown > 0 || nearEndOfRetention(batch, now) !== undefined) {
      batches.push(batch);
    }
  }
  return {
    ...facts,
    batches,
    backingOff,
    now,
    version: VERSION,
    waiting: noticeJobs.waiting,
    oldestWaitingMs:
      noticeWaitingSince === undefined ? undefined : Math.max(0, now - noticeWaitingSince),
    nearFailed: await nearFailedNotices(redis, keys, keepFailedMs, now),
  };
}
