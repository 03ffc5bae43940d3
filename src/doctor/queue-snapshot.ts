import { VERSION } from '../contracts/version.ts';
import { FleetReader, type FleetSnapshot } from '../ops/snapshot.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';

/** The newest batches that are read, one command each. */
const NEWEST_BATCHES = 1_000;

/** The state of the queue, as it is judged. Times are milliseconds. */
export interface QueueSnapshot extends Pick<
  FleetSnapshot,
  'hold' | 'workers' | 'unknownNotices' | 'batches'
> {
  /** The clock of this machine. */
  readonly now: number;
  /** Version of the program that judges. */
  readonly version: string;
  /** Single notices that wait. */
  readonly waiting: number;
  /** How long the oldest of them has waited; undefined where none waits. */
  readonly oldestWaitingMs: number | undefined;
}

/** @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED */
export async function readQueueSnapshot(redis: RedisClient, keys: Keys): Promise<QueueSnapshot> {
  const reader = new FleetReader({ redis, keys, newestBatches: NEWEST_BATCHES });
  try {
    const { noticeJobs, noticeWaitingSince, ...facts } = await reader.read(
      'hold',
      'workers',
      'unknownNotices',
      'batches',
      'noticeJobs',
      'noticeWaitingSince',
    );
    const now = Date.now();
    return {
      ...facts,
      now,
      version: VERSION,
      waiting: noticeJobs.waiting,
      oldestWaitingMs:
        noticeWaitingSince === undefined ? undefined : Math.max(0, now - noticeWaitingSince),
    };
  } finally {
    await reader.close();
  }
}
