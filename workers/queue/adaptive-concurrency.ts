import type { Worker } from 'bullmq';

/**
 * How many jobs of single notices a process takes from the queue at the same time. With coalescing these
 * are more than the requests under way, because groups are made of them.
 *
 * BullMQ fetches as many jobs as `concurrency` allows, one round trip after the other, before it runs the
 * first, so a high concurrency would make the first notice of a burst wait for the last. It is raised in
 * steps:
 *
 * - idle: the last fetch found no job, or jobs were requeued. `least` more than the jobs in progress.
 * - idle -> busy: a job was taken.
 * - busy: `least` more whenever it is reached, up to `most`, and while fewer than `most` contacts are
 *   held, so that notices with many contacts do not fill the memory.
 * - busy -> idle: a fetch found no job, or jobs were requeued.
 *
 * It is never lowered while jobs wait: a job that ends fetches the next one in the same round trip.
 */
export class AdaptiveConcurrency {
  readonly #least: number;
  readonly #most: number;
  #worker: Pick<Worker, 'concurrency'> | undefined;
  #jobs = 0;
  #contacts = 0;
  #idle = true;

  /**
   * @param least CONCURRENCY
   * @param most jobs, and contacts, at the same time
   */
  constructor(least: number, most: number) {
    this.#least = least;
    this.#most = most;
  }

  /** Controls the concurrency of a worker. */
  watch(worker: Worker): void {
    this.#worker = worker;
    worker.on('drained', () => this.ranDry());
  }

  /** A job was taken. Call it before the first await of a run: BullMQ reads the concurrency right after. */
  taken(contacts: number): void {
    this.#jobs++;
    this.#contacts += contacts;
    this.#idle = false;
    const worker = this.#worker;
    if (worker === undefined || this.#jobs < worker.concurrency) return;
    if (this.#contacts < this.#most) this.#raise(worker);
  }

  /** A job has ended. */
  freed(contacts: number): void {
    this.#jobs--;
    this.#contacts -= contacts;
    if (this.#idle) this.ranDry();
  }

  /** No job waits that this process could take now. */
  ranDry(): void {
    this.#idle = true;
    if (this.#worker !== undefined) this.#raise(this.#worker);
  }

  #raise(worker: Pick<Worker, 'concurrency'>): void {
    worker.concurrency = Math.min(this.#most, this.#jobs + this.#least);
  }
}
