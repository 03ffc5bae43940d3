import type { BackgroundService } from '../../src/async/lifecycle.ts';
import { pause } from '../../src/async/cancellation.ts';
import { withTimeout } from '../../src/async/repeat.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import type { InFlight } from './in-flight.ts';
import type { JobLocks } from './send-worker.ts';
import type { SendWorker } from './send-job.ts';

/** A Redis that has not answered for so long does not answer. */
const ANSWER_MS = 2_000;
const CHECK_EVERY_MS = 200;

/** With nothing under way a close takes milliseconds, unless BullMQ waits for what never comes. */
const IDLE_MS = 3_000;

export interface WorkerGroupOptions {
  readonly redis: RedisClient;
  readonly inFlight: InFlight;
  readonly locks: JobLocks;
  readonly onError: (error: Error) => void;
}

/** The BullMQ workers of a process: they take jobs from the start to the stop. */
export class WorkerGroup implements BackgroundService {
  readonly #workers: readonly SendWorker[];
  readonly #options: WorkerGroupOptions;
  /** Why no jobs are taken. */
  readonly #suspendedFor = new Set<string>();
  #stopping: Promise<void> | undefined;

  constructor(workers: readonly SendWorker[], options: WorkerGroupOptions) {
    this.#workers = workers;
    this.#options = options;
    const { onError, locks } = options;
    for (const worker of workers) {
      worker.on('error', onError);
      locks.watch(worker);
    }
  }

  start(): void {
    for (const worker of this.#workers) void worker.run().catch(this.#options.onError);
  }

  /** Whether no further jobs are taken. */
  get suspended(): boolean {
    return this.#suspendedFor.size > 0;
  }

  /** Takes no further jobs while a reason applies; jobs that run are not affected. */
  suspend(reason: string, applies: boolean): void {
    const before = this.suspended;
    if (applies) this.#suspendedFor.add(reason);
    else this.#suspendedFor.delete(reason);
    const { suspended } = this;
    if (suspended === before) return;
    for (const worker of this.#workers) {
      void (suspended ? worker.pause(true) : worker.resume()).catch(this.#options.onError);
    }
  }

  /**
   * Closes the workers: what is being sent finishes, and its outcome is recorded.
   *
   * BullMQ waits forever for a Redis that is away or frozen, and for a blocking connection that was lost
   * before the close, even when Redis is back. Where nothing is under way and no outcome is left to
   * record, there is nothing to wait for: the workers are abandoned, and this resolves. Otherwise it waits,
   * for Redis may come back, until the time to stop runs out (stop-signals.ts).
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#close();
    return this.#stopping;
  }

  async #close(): Promise<void> {
    const closed = new AbortController();
    const closing = Promise.all(this.#workers.map((worker) => worker.close())).finally(() =>
      closed.abort(),
    );
    await Promise.race([closing, this.#untilPointless(closed.signal)]);
    if (closed.signal.aborted) return;
    for (const worker of this.#workers) void worker.abandon().catch(this.#options.onError);
  }

  async #untilPointless(closed: AbortSignal): Promise<void> {
    const { inFlight, redis } = this.#options;
    let idleSince: number | undefined;
    while (!closed.aborted) {
      if (inFlight.busy) idleSince = undefined;
      else {
        idleSince ??= performance.now();
        if (performance.now() - idleSince > IDLE_MS) return;
        if (!(await answers(redis)) && !inFlight.busy) return;
      }
      await pause(CHECK_EVERY_MS, closed);
    }
  }
}

async function answers(redis: RedisClient): Promise<boolean> {
  const ping = redis.ping().then(
    () => true,
    () => false,
  );
  return withTimeout(ping, ANSWER_MS, false);
}
