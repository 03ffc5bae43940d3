import type { Job } from 'bullmq';
import type { SendWorker } from './send-job.ts';

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
