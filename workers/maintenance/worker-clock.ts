import type { Logger } from 'pino';
import type { BackgroundService } from '../../src/async/lifecycle.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { redisErrorFields } from '../../src/redis/failure.ts';
import { ServerClock } from '../../src/redis/server-clock.ts';

/** A difference between the wall clock and Redis time that is logged. */
const SKEW_MS = 5_000;

/**
 * Reads the clock of Redis at the start and every `everyMs`, and logs once when the wall clock of this
 * process differs: BullMQ decides by the wall clock when a delayed notice is due.
 */
export class WorkerClock implements BackgroundService {
  readonly #clock: ServerClock;
  readonly #everyMs: number;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #warned = false;

  constructor(redis: RedisClient, everyMs: number, log: Logger) {
    this.#clock = new ServerClock(redis);
    this.#everyMs = everyMs;
    this.#log = log;
  }

  /** The clock of Redis, in milliseconds since the epoch. */
  readonly now = (): number => this.#clock.now();

  async start(): Promise<void> {
    await this.#read();
    this.#timer ??= setInterval(() => void this.#read(), this.#everyMs);
  }

  stop(): void {
    clearInterval(this.#timer);
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
      this.#log.warn(
        { event: 'clock-skew', aheadMs },
        'the clock of this machine differs from that of Redis',
      );
    }
    this.#warned = differs;
  }
}
