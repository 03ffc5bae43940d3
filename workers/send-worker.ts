import { Worker, type Job } from 'bullmq';
import type { RedisClient } from '../src/redis/connect.ts';
import { QUEUE_NAME, type Keys } from '../src/redis/keys.ts';
import { backoffMs } from './backoff.ts';
import type { JobResult } from './steering.ts';

/** What a BullMQ worker of ours is told; milliseconds unless said otherwise. */
export interface SendWorkerSettings {
  readonly concurrency: number;
  readonly attempts: number;
  readonly backoffBaseMs: number;
  readonly backoffCapMs: number;
  readonly lockDurationMs: number;
  readonly stalledIntervalMs: number;
  readonly keepAcceptedMs: number;
  readonly keepFailedMs: number;
}

/** Accepted jobs kept for a look back, at most, whatever their age. */
const KEEP_ACCEPTED_COUNT = 10_000;

/** A worker that sleeps through a hold looks up this often, and never keeps a fetched job so long. */
const HOLD_NAP_MS = 1_000;

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
  settings: SendWorkerSettings,
  run: (job: Job, lockToken: string | undefined, signal?: AbortSignal) => Promise<JobResult>,
): Worker {
  return new Worker(
    QUEUE_NAME,
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
      concurrency: settings.concurrency,
      lockDuration: settings.lockDurationMs,
      stalledInterval: settings.stalledIntervalMs,
      maxStalledCount: STALLS_ALLOWED,
      // Never reached; a worker without a limiter would not heed a hold.
      limiter: { max: 1_000_000_000, duration: 1_000 },
      maximumRateLimitDelay: HOLD_NAP_MS,
      runRetryDelay: 2_000,
      removeOnComplete: {
        age: Math.ceil(settings.keepAcceptedMs / 1_000),
        count: KEEP_ACCEPTED_COUNT,
      },
      removeOnFail: { age: Math.ceil(settings.keepFailedMs / 1_000) },
      settings: {
        backoffStrategy: (attemptsMade) =>
          backoffMs(attemptsMade, settings.backoffBaseMs, settings.backoffCapMs, Math.random()),
      },
    },
  );
}
