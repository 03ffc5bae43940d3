import type { Job, Worker } from 'bullmq';

/**
 * Tells right before a send whether this process still owns its job's lock, at no round trip.
 *
 * BullMQ renews locks in the background and does not stop a processor whose renewal is late, so a
 * paused machine, a blocked event loop or a Redis that is gone would let a second worker send what
 * this one is about to send. A lock counts as ours for half of its duration after the last renewal
 * we know of; the total deadline of a send is shorter than the other half, so a send that starts in
 * time also ends in time.
 *
 * Two clocks, because each has a blind spot: the wall clock sees the time a job spent between its
 * fetch and its start, the monotonic one is not fooled by a clock that is set back.
 */
export class JobLockGuard {
  readonly #lockDurationMs: number;
  readonly #renewedAt = new Map<string, number>();

  constructor(lockDurationMs: number) {
    this.#lockDurationMs = lockDurationMs;
  }

  /** Follows the renewals of a worker: a job whose renewal failed is another's. */
  watch(worker: Worker): void {
    worker.on('lockRenewalFailed', (jobIds) => {
      for (const id of jobIds) if (this.#renewedAt.has(id)) this.#renewedAt.set(id, -Infinity);
    });
    worker.on('locksRenewed', ({ jobIds }) => {
      const now = performance.now();
      for (const id of jobIds) if (this.#renewedAt.has(id)) this.#renewedAt.set(id, now);
    });
  }

  /** Begins to guard a job that was just fetched; call the answer when its run ends. */
  guard(job: Job): { owned: () => boolean; release: () => void } {
    const id = job.id ?? '';
    const startedAt = performance.now();
    const waitedMs = Math.max(0, Date.now() - (job.processedOn ?? Date.now()));
    this.#renewedAt.set(id, startedAt - waitedMs);
    return {
      owned: () => {
        const renewedAt = this.#renewedAt.get(id) ?? startedAt - waitedMs;
        return performance.now() - renewedAt < this.#lockDurationMs / 2;
      },
      release: () => this.#renewedAt.delete(id),
    };
  }
}
