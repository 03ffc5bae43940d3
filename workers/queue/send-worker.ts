import type { Job } from 'bullmq';
import type { WorkerConfig } from '../../src/config/config.ts';
import type { LaneName } from '../../src/contracts/outcome.ts';
import { CHUNK_QUEUE_NAME, QUEUE_NAME } from '../../src/redis/keys.ts';
import { jobSpan } from '../../src/tracing/spans.ts';
import { AttemptError, backoffMs } from './attempt-error.ts';
import { jobKeyOf, SendJob, SendWorker, type Lane, type SendWorkerOptions } from './send-job.ts';
import { setFieldsAside } from './bull-backend.ts';

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

export type RunJob = (job: Job) => Promise<unknown>;

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
  const runJob: RunJob = (job) => {
    job.opts.attempts = job.opts.attempts || settings.attempts;
    job.opts.backoff = { type: 'full-jitter' };
    const runOnce = () => run(job);
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

/** The lock of a job in one run. */
export interface JobLock {
  /** Whether the lock is surely ours until the end of a request that begins now. */
  valid(): boolean;
  release(): void;
}

/**
 * Knows right before a send whether this process still owns the lock of its job, without a round trip.
 *
 * BullMQ renews locks in the background and does not stop a processor whose renewal is late, so after a
 * paused machine, a blocked event loop or an outage of Redis a second worker could send what this one is
 * about to send. A lock counts as ours for half of its duration after the last renewal was sent; the total
 * deadline of a send is shorter than the other half, so a send that starts in time also ends in time.
 *
 * Two clocks: that of Redis measures the time between fetch and start of a job, the monotonic clock does
 * not jump when that is set back.
 */
export class JobLocks {
  readonly #lockDurationMs: number;
  readonly #now: () => number;
  /** The run of each job that was fetched last; an earlier one of the same job has lost its lock. */
  readonly #runs = new Map<string, { renewedAt: number }>();

  /** @param now the clock by which a job was fetched. Default: the wall clock */
  constructor(lockDurationMs: number, now: () => number = Date.now) {
    this.#lockDurationMs = lockDurationMs;
    this.#now = now;
  }

  /** Follows the renewals of a worker. A failed renewal means that the lock is lost. */
  watch(worker: Pick<SendWorker, 'on' | 'renewalSentAt'>): void {
    worker.on('lockRenewalFailed', (jobIds) => {
      for (const id of jobIds) this.#renewed(id, -Infinity);
    });
    worker.on('locksRenewed', ({ jobIds }) => {
      // Not the time of the reply, which may come late.
      const at = worker.renewalSentAt;
      for (const id of jobIds) this.#renewed(id, at);
    });
  }

  #renewed(id: string, at: number): void {
    const run = this.#runs.get(id);
    if (run !== undefined) run.renewedAt = at;
  }

  of(job: Job): JobLock {
    const id = job.id ?? '';
    const now = this.#now();
    const waitedMs = Math.max(0, now - (job.processedOn ?? now));
    const run = { renewedAt: performance.now() - waitedMs };
    const earlier = this.#runs.get(id);
    if (earlier !== undefined) earlier.renewedAt = -Infinity;
    this.#runs.set(id, run);
    return {
      valid: () => performance.now() - run.renewedAt < this.#lockDurationMs / 2,
      release: () => {
        if (this.#runs.get(id) === run) this.#runs.delete(id);
      },
    };
  }
}
