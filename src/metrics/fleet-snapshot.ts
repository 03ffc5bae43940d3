import type { Job, Queue } from 'bullmq';
import type { Batch } from '../batch/ledger/batch-record.ts';
import { Ledger } from '../batch/ledger/ledger.ts';
import type { Hold } from '../contracts/hold.ts';
import type { LaneName } from '../contracts/seen-attempt.ts';
import { readWorkers, type SeenWorker } from '../fleet/heartbeat.ts';
import { readHold } from '../fleet/hold/hold-gate.ts';
import type { RedisClient } from '../redis/connect.ts';
import { readRedisFacts, type RedisFacts } from '../redis/facts.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { redisTime } from '../redis/server-clock.ts';
import { readTokenStatus, type TokenStatus } from '../token/token-status.ts';
import { BATCHES_LOOKED_AT, type JOB_STATES } from './fleet-table.ts';

/** What is looked at in one queue. */
export interface LaneSnapshot {
  readonly jobs: Readonly<Record<(typeof JOB_STATES)[number], number>>;
  /** When the job was due that goes next; absent where none waits. Milliseconds since the epoch. */
  readonly waitingSince?: number;
}

/** What Redis knows of the account at one moment. */
export interface FleetSnapshot {
  /** Redis time, milliseconds since the epoch. */
  readonly now: number;
  readonly lanes: Readonly<Record<LaneName, LaneSnapshot>>;
  readonly hold: Hold | undefined;
  readonly unknownNotices: number;
  readonly batches: readonly Batch[];
  readonly unsentContacts: number;
  readonly workers: readonly SeenWorker[];
  /** Absent where no key pair is configured: it names the slot. */
  readonly token: TokenStatus | undefined;
  readonly redis: RedisFacts;
}

/** Where the facts come from. */
export interface FleetTarget {
  readonly redis: RedisClient;
  readonly keys: Keys;
  /** Name of the key pair (pairName); without one nothing is said of the token. */
  readonly pair?: string | undefined;
  /** TOKEN_BUDGET_WINDOW_MS. Default 3,600,000. */
  readonly tokenBudgetWindowMs?: number | undefined;
}

/**
 * Reads the facts. The number of commands does not depend on how much waits: a few for each queue,
 * one for each worker, one for each batch up to {@link BATCHES_LOOKED_AT}; none scans.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED or TOKEN_UNAVAILABLE
 */
export async function readFleetSnapshot(
  { redis, keys, pair, tokenBudgetWindowMs }: FleetTarget,
  queues: Readonly<Record<LaneName, Queue>>,
): Promise<FleetSnapshot> {
  const ledger = new Ledger(redis, keys);
  try {
    const [
      time,
      notices,
      chunks,
      hold,
      unknownNotices,
      batches,
      unsentContacts,
      workers,
      token,
      health,
    ] = await Promise.all([
      redisTime(redis),
      readLane(queues.notices),
      readLane(queues.chunks),
      readHold(redis, keys),
      redis.zcard(keys.intents.unknownAt),
      ledger.list(BATCHES_LOOKED_AT),
      ledger.unsent(),
      readWorkers(redis, keys),
      pair === undefined
        ? undefined
        : readTokenStatus(redis, keys.token(pair), tokenBudgetWindowMs),
      readRedisFacts(redis, keys),
    ]);
    return {
      now: Math.floor(time),
      lanes: { notices, chunks },
      hold,
      unknownNotices,
      batches,
      unsentContacts,
      workers,
      token,
      redis: health,
    };
  } catch (error) {
    throw redisFailure(error);
  }
}

async function readLane(queue: Queue): Promise<LaneSnapshot> {
  const [counts, next] = await Promise.all([
    queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed', 'failed'),
    queue.getJobs(['waiting', 'prioritized'], 0, 0, true),
  ]);
  // A job that was taken and removed between the two looks of BullMQ is not there.
  const there: readonly (Job | undefined)[] = next;
  const due = there
    .flatMap((job) => (job === undefined ? [] : [job.timestamp + job.delay]))
    .sort((a, b) => a - b)[0];
  return {
    jobs: {
      waiting: (counts['waiting'] ?? 0) + (counts['prioritized'] ?? 0),
      active: counts['active'] ?? 0,
      delayed: counts['delayed'] ?? 0,
      failed: counts['failed'] ?? 0,
    },
    ...(due === undefined ? {} : { waitingSince: due }),
  };
}
