import { Worker, type Job, type KeepJobs } from 'bullmq';
import type { RedisClient } from '../../src/redis/connect.ts';
import type { Keys } from '../../src/redis/keys.ts';
import { backoffMs } from './backoff.ts';

/** One of the two queues a worker process takes jobs from, side by side. */
export interface Lane {
  readonly queueName: string;
  /** Jobs at the same time, to begin with. */
  readonly concurrency: number;
  /** The most jobs at the same time (adaptive-concurrency.ts). */
  readonly mostJobs: number;
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
 *
 * @param run with three parameters it gets a signal that `cancelJob` of the worker aborts
 */
export function buildSendWorker(
  connection: RedisClient,
  keys: Keys,
  lane: Lane,
  settings: SendWorkerSettings,
  run: (job: Job, lockToken: string | undefined, signal?: AbortSignal) => Promise<unknown>,
): Worker {
  const withPolicy = (job: Job): Job => {
    job.opts.attempts = job.opts.attempts || settings.attempts;
    job.opts.backoff = { type: 'full-jitter' };
    return job;
  };
  return new Worker(
    lane.queueName,
    // BullMQ makes a signal for each job only where the processor declares three parameters.
    run.length < 3
      ? (job: Job, lockToken: string | undefined) => run(withPolicy(job), lockToken)
      : (job: Job, lockToken: string | undefined, signal: AbortSignal | undefined) =>
          run(withPolicy(job), lockToken, signal),
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
