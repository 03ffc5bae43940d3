import type { BackgroundService } from '../../src/async/lifecycle.ts';
import { repeat, type Repeated } from '../../src/async/repeat.ts';
import { boundWaits } from '../../src/fleet/hold/hold-scripts.ts';
import { redisErrorFields } from '../../src/redis/failure.ts';
import { ServerClock } from '../../src/redis/server-clock.ts';
import type { WorkerBasis } from './worker-basis.ts';

/** A difference between the wall clock and Redis time that is logged, and a step back of Redis time that counts. */
const SKEW_MS = 5_000;

/**
 * Reads the clock of Redis at the start and with each heartbeat, and logs once when the wall clock of this
 * process differs: times in logs are wrong then.
 *
 * Sees that the clock of Redis went back: it was set, or a failover led to a server whose clock is behind. What keeps the
 * fleet from taking jobs would last longer by as much, so it ends; that is repeated until it succeeds.
 */
export class WorkerClock implements BackgroundService {
  readonly #clock: ServerClock;
  readonly #basis: WorkerBasis;
  readonly #reads: Repeated;
  #warned = false;
  #wentBack = false;

  constructor(basis: WorkerBasis) {
    this.#basis = basis;
    this.#clock = new ServerClock(basis.redis);
    this.#reads = repeat(() => this.#read(), basis.config.worker.heartbeatMs);
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
    const { redis, keys, log } = this.#basis;
    try {
      const backMs = Math.round(await this.#clock.read());
      if (backMs >= SKEW_MS) {
        this.#wentBack = true;
        log.warn({ event: 'clock-back', backMs }, 'the clock of Redis went back');
      }
      if (this.#wentBack) await boundWaits(redis, keys);
      this.#wentBack = false;
    } catch (error) {
      log.warn({ event: 'clock-trouble', ...redisErrorFields(error) });
      return;
    }
    const { aheadMs } = this.#clock;
    const differs = Math.abs(aheadMs) >= SKEW_MS;
    if (differs && !this.#warned) {
      const words = 'the clock of this machine differs from that of Redis';
      log.warn({ event: 'clock-skew', aheadMs }, words);
    }
    this.#warned = differs;
  }
}
