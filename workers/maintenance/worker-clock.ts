import type { Logger } from 'pino';
import type { BackgroundService } from '../../src/async/lifecycle.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { redisErrorFields } from '../../src/redis/failure.ts';
import { ServerClock } from '../../src/redis/server-clock.ts';

/** A difference between the wall clock and Redis time that is logged, and a step back of Redis time that counts. */
const SKEW_MS = 5_000;

/**
 * Reads the clock of Redis at the start and every `everyMs`, and logs once when the wall clock of this
 * process differs: BullMQ decides by the wall clock when a delayed notice is due.
 *
 * Sees that the clock of Redis went back: it was set, or a failover led to a server whose clock is behind. What the
 * fleet then waits for would last longer by as much, so `afterStepBack` is called, and once at the start, for this
 * process does not know what was before. It is repeated until it succeeds.
 */
export class WorkerClock implements BackgroundService {
  readonly #clock: ServerClock;
  readonly #everyMs: number;
  readonly #log: Logger;
  readonly #afterStepBack: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #warned = false;
  #mayBeBehind = true;
  #reading = false;

  constructor(
    redis: RedisClient,
    everyMs: number,
    log: Logger,
    afterStepBack: () => Promise<void>,
  ) {
    this.#clock = new ServerClock(redis);
    this.#everyMs = everyMs;
    this.#log = log;
    this.#afterStepBack = afterStepBack;
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
    // While Redis is away the client keeps every command: one is enough.
    if (this.#reading) return;
    this.#reading = true;
    try {
      const backMs = Math.round(await this.#clock.read());
      if (backMs >= SKEW_MS) {
        this.#mayBeBehind = true;
        this.#log.warn({ event: 'clock-back', backMs }, 'the clock of Redis went back');
      }
      if (this.#mayBeBehind) await this.#afterStepBack();
      this.#mayBeBehind = false;
    } catch (error) {
      this.#log.warn({ event: 'clock-trouble', ...redisErrorFields(error) });
      return;
    } finally {
      this.#reading = false;
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
