import type { BackgroundService } from '../../src/async/lifecycle.ts';
import { repeat, type Repeated } from '../../src/async/repeat.ts';
import { redisErrorFields } from '../../src/redis/failure.ts';
import { ServerClock } from '../../src/redis/server-clock.ts';
import type { WorkerBasis } from './worker-basis.ts';

/** A difference between the wall clock and Redis time that is logged. */
const SKEW_MS = 5_000;

/**
 * Reads the clock of Redis at the start and with each heartbeat, and logs once when the wall clock of this
 * process differs: times in logs are wrong then.
 */
export class WorkerClock implements BackgroundService {
  readonly #clock: ServerClock;
  readonly #log: WorkerBasis['log'];
  readonly #reads: Repeated;
  #warned = false;

  constructor({ redis, config, log }: WorkerBasis) {
    this.#clock = new ServerClock(redis);
    this.#log = log;
    this.#reads = repeat(() => this.#read(), config.worker.heartbeatMs);
  }

  readonly now = (): number => this.#clock.now();

  async start(): Promise<void> {
    await this.#read();
    this.#reads.start();
  }

  stop(): void {
    // Redis may not answer the read that is under way.
    void this.#reads.stop();
  }

  async #read(): Promise<void> {
    try {
      await this.#clock.read();
    } catch (error) {
      this.#log.warn({ event: 'clock-trouble', ...redisErrorFields(error) });
      return;
    }
    const { aheadMs } = this.#clock;
    const differs = Math.abs(aheadMs) >= SKEW_MS;
    if (differs && !this.#warned) {
      const words = 'the clock of this machine differs from that of Redis';
      this.#log.warn({ event: 'clock-skew', aheadMs }, words);
    }
    this.#warned = differs;
  }
}
