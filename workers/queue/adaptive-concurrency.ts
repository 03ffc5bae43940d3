import type { Worker } from 'bullmq';

/**
 * How many jobs of single notices a process takes from the queue at the same time. With coalescing it
 * holds more of them than requests may be under way, for that is where groups come from.
 *
 * BullMQ fills its free slots one round trip after the other before it runs a job, so many slots at
 * once would make the first notice of a burst wait for the last. They are opened in steps:
 *
 * - dry: the last look found no job, or jobs went back. `least` slots are open beside those in use.
 * - dry -> busy: a job was taken.
 * - busy, `least` slots more: the last one was taken. Up to `most`, and while fewer than `most`
 *   contacts are held, so that notices with many contacts do not fill the memory.
 * - busy -> dry: a look found no job, or jobs went back.
 *
 * Slots are never closed while jobs wait: a job that ends brings the next one along in the same round
 * trip, and would need another one for it.
 */
export class AdaptiveConcurrency {
  readonly #least: number;
  readonly #most: number;
  #worker: Pick<Worker, 'concurrency'> | undefined;
  #jobs = 0;
  #contacts = 0;
  #dry = true;

  /** @param least CONCURRENCY */
  constructor(least: number, most: number) {
    this.#least = least;
    this.#most = most;
  }

  /** Begins to open and close the slots of a worker. */
  watch(worker: Worker): void {
    this.#worker = worker;
    worker.on('drained', () => this.ranDry());
  }

  /** To be called before the first await of a run: BullMQ looks at its slots right after. */
  taken(contacts: number): void {
    this.#jobs++;
    this.#contacts += contacts;
    this.#dry = false;
    const worker = this.#worker;
    if (worker === undefined || this.#jobs < worker.concurrency) return;
    if (this.#contacts < this.#most) this.#open(worker);
  }

  freed(contacts: number): void {
    this.#jobs--;
    this.#contacts -= contacts;
    if (this.#dry) this.ranDry();
  }

  /** Nothing waits that this process could take now. */
  ranDry(): void {
    this.#dry = true;
    if (this.#worker !== undefined) this.#open(this.#worker);
  }

  #open(worker: Pick<Worker, 'concurrency'>): void {
    worker.concurrency = Math.min(this.#most, this.#jobs + this.#least);
  }
}
