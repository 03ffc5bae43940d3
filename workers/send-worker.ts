import { Worker, type Job, type KeepJobs } from 'bullmq';
import type { RedisClient } from '../src/redis/connect.ts';
import type { Keys } from '../src/redis/keys.ts';
import { backoffMs } from './backoff.ts';

/** One of the two queues a worker process takes jobs from, side by side. */
export interface Lane {
  readonly queueName: string;
  /** Jobs at the same time. */
  readonly concurrency: number;
  /** How many of the jobs that are done, and that failed, are kept for a look back, and how long. */
  readonly keepDone: KeepJobs;
  readonly keepFailed: KeepJobs;
}

/** What a BullMQ worker of ours is told; milliseconds unless said otherwise. */
export interface SendWorkerSettings {
  readonly attempts: number;
  readonly backoffBaseMs: number;
  readonly backoffCapMs: number;
  readonly lockDurationMs: number;
  readonly stalledIntervalMs: number;
}

/**
 * A worker that sleeps through a hold looks up this often, and never keeps a fetched job so long. All
 * of the fleet is back so soon after a probe has lifted the hold.
 */
const HOLD_NAP_MS = 250;

/**
 * A stall is the death of a worker, not a fault of the job; BullMQ's own count would fail a job
 * that may never have been sent.
 */
const STALLS_ALLOWED = 1_000;

/**
 * Builds the BullMQ worker, not yet running. How often a job is tried, how long it waits between
 * and how long it is kept is the worker's to say, so that a job carries only its notice and
 * producers in any language need not know.
 */
export function buildSendWorker(
  connection: RedisClient,
  keys: Keys,
  lane: Lane,
  settings: SendWorkerSettings,
  run: (job: Job, lockToken: string | undefined, signal?: AbortSignal) => Promise<unknown>,
): Worker {
  return new Worker(
    lane.queueName,
    // BullMQ hands a signal only to a processor that declares three parameters.
    async (job: Job, lockToken: string | undefined, signal: AbortSignal | undefined) => {
      job.opts.attempts = job.opts.attempts || settings.attempts;
      job.opts.backoff = { type: 'full-jitter' };
      return run(job, lockToken, signal);
    },
    {
      connection,
      prefix: keys.bullPrefix,
      autorun: false,
      concurrency: lane.concurrency,
      lockDuration: settings.lockDurationMs,
      stalledInterval: settings.stalledIntervalMs,
      maxStalledCount: STALLS_ALLOWED,
      // Never reached; a worker without a limiter would not heed a hold.
      limiter: { max: 1_000_000_000, duration: 1_000 },
      maximumRateLimitDelay: HOLD_NAP_MS,
      runRetryDelay: 2_000,
      removeOnComplete: lane.keepDone,
      removeOnFail: lane.keepFailed,
      settings: {
        backoffStrategy: (attemptsMade) =>
          backoffMs(attemptsMade, settings.backoffBaseMs, settings.backoffCapMs, Math.random()),
      },
    },
  );
}
