import type { Job } from 'bullmq';
import type { WorkerConfig } from '../../src/config/config.ts';
import type { LaneName } from '../../src/contracts/outcome.ts';
import { CHUNK_QUEUE_NAME, QUEUE_NAME } from '../../src/redis/keys.ts';
import { jobSpan } from '../../src/tracing/spans.ts';
import { AttemptError, backoffMs } from './attempt-error.ts';
import { jobKeyOf, SendJob, SendWorker, type Lane, type SendWorkerOptions } from './send-job.ts';
import { setFieldsAside } from './unreadable-job.ts';

/** Most accepted notices that are kept, whatever their age. */
export const KEEP_ACCEPTED_COUNT = 10_000;

/**
 * The two lanes of a worker process. Each has a concurrency of its own, so that a single notice never waits
 * for a batch, and a batch makes progress however many notices there are.
 *
 * Jobs of chunks are not kept: the ledger has their results, and their ids must be free for a resumed
 * batch.
 */
export function lanesOf(config: WorkerConfig): Readonly<Record<LaneName, Lane>> {
  const keepFailed = { age: seconds(config.keepFailedMs) };
  return {
    notices: {
      name: 'notices',
      queueName: QUEUE_NAME,
      concurrency: config.concurrency,
      keepDone: { age: seconds(config.keepAcceptedMs), count: KEEP_ACCEPTED_COUNT },
      keepFailed,
    },
    chunks: {
      name: 'chunks',
      queueName: CHUNK_QUEUE_NAME,
      concurrency: config.batchConcurrency,
      keepDone: { count: 0 },
      keepFailed,
    },
  };
}

const seconds = (ms: number) => Math.ceil(ms / 1_000);

export type RunJob = (job: Job, lockToken: string | undefined) => Promise<unknown>;

/**
 * A worker checks this often whether a hold is over, and never keeps a fetched job longer. The whole fleet
 * continues this soon after a probe has lifted the hold.
 */
const HOLD_CHECK_MS = 250;

/**
 * A stall is the death of a worker and no fault of the job; BullMQ's own limit would fail a job that may
 * never have been sent.
 */
const STALLS_ALLOWED = 1_000;

/**
 * Builds the BullMQ worker of a lane, not yet running. The worker decides how often a job is tried, its
 * backoff and how long it is kept, so that a job contains only its notice and producers in any language
 * need not know.
 */
export function buildSendWorker(options: SendWorkerOptions, run: RunJob): SendWorker {
  const { redis, keys, lane, settings, inFlight } = options;
  const runJob: RunJob = (job, lockToken) => {
    job.opts.attempts = job.opts.attempts || settings.attempts;
    job.opts.backoff = { type: 'full-jitter' };
    const runOnce = () => run(job, lockToken);
    const prepareAndRun = async () => {
      await setFieldsAside(redis, jobKeyOf(job));
      return runOnce();
    };
    return inFlight.run(job, () =>
      jobSpan(job, lane.name, isUnreadable(job) ? prepareAndRun : runOnce),
    );
  };
  return new SendWorker(
    lane.queueName,
    // With a third parameter BullMQ makes a signal for each job.
    runJob,
    {
      connection: redis,
      prefix: keys.bullPrefix,
      autorun: false,
      concurrency: lane.concurrency,
      lockDuration: settings.lockDurationMs,
      stalledInterval: settings.stalledIntervalMs,
      maxStalledCount: STALLS_ALLOWED,
      // Never reached; a worker without a limiter would ignore a hold.
      limiter: { max: 1_000_000_000, duration: 1_000 },
      maximumRateLimitDelay: HOLD_CHECK_MS,
      runRetryDelay: 2_000,
      removeOnComplete: lane.keepDone,
      removeOnFail: lane.keepFailed,
      settings: {
        backoffStrategy: (attemptsMade, _type, error) =>
          backoffMs(
            attemptsMade,
            settings,
            Math.random(),
            error instanceof AttemptError ? error.backoff : undefined,
          ),
      },
    },
    options,
  );
}

const isUnreadable = (job: Job) => job instanceof SendJob && job.isUnreadable;
