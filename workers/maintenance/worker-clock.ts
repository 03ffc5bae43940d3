import { Job } from 'bullmq';
import type { BackgroundService } from '../../src/async/lifecycle.ts';
import { repeat, type Repeated } from '../../src/async/repeat.ts';
import { boundWaits } from '../../src/fleet/hold/holds.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { redisErrorFields } from '../../src/redis/failure.ts';
import { CHUNK_QUEUE_NAME, QUEUE_NAME, type Keys } from '../../src/redis/keys.ts';
import { openBullQueue } from '../../src/redis/open-queue.ts';
import { ServerClock } from '../../src/redis/server-clock.ts';
import type { WorkerBasis } from './worker-basis.ts';

/** A difference between the wall clock and Redis time that is logged, and a step back of Redis time that counts. */
const SKEW_MS = 5_000;

/** A job that was tried and waits for its next run longer than this does so since before the clock went back. */
const LONGEST_WAIT_MS = 120_000;

/** Such jobs that are brought forward; BullMQ keeps the due time in the upper bits of a score. */
const MOST_JOBS = 10_000;
const DUE_SHIFT = 0x1000;

/**
 * Reads the clock of Redis at the start and with each heartbeat, and logs once when the wall clock of this
 * process differs: times in logs are wrong then.
 *
 * Sees that the clock of Redis went back: it was set, or a failover led to a server whose clock is behind. What the
 * fleet waits for would last longer by as much, so it ends; that is repeated until it succeeds.
 */
export class WorkerClock implements BackgroundService {
  readonly #clock: ServerClock;
  readonly #basis: WorkerBasis;
  readonly #reads: Repeated;
  #warned = false;
  #wentBack = false;
  /** At the start, too: it may have gone back while no worker ran. */
  #mustBound = true;

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
        this.#wentBack = this.#mustBound = true;
        log.warn({ event: 'clock-back', backMs }, 'the clock of Redis went back');
      }
      if (this.#mustBound) this.#wentBack = await boundWaits(redis, keys, this.#wentBack);
      this.#mustBound = false;
      if (this.#wentBack) await bringForward(redis, keys, this.now());
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

/** Lets jobs come again that wait for another attempt: it was put off by the clock before it went back. */
async function bringForward(redis: RedisClient, keys: Keys, now: number): Promise<void> {
  const lanes = [
    { name: QUEUE_NAME, delayed: keys.noticesIn('delayed'), jobKey: keys.noticeJob('') },
    { name: CHUNK_QUEUE_NAME, delayed: keys.delayedChunks, jobKey: keys.chunkJob('') },
  ] as const;
  for (const { name, delayed, jobKey } of lanes) {
    const from = (now + LONGEST_WAIT_MS) * DUE_SHIFT;
    const ids = await redis.zrangebyscore(delayed, from, '+inf', 'LIMIT', 0, MOST_JOBS);
    const started = await Promise.all(ids.map((id) => redis.hget(jobKey + id, 'ats')));
    const tried = ids.filter((_, index) => Number(started[index] ?? 0) > 0);
    if (tried.length === 0) continue;
    const queue = openBullQueue(name, redis, keys);
    try {
      for (const id of tried) {
        // Another worker may have brought it forward.
        await (await Job.fromId(queue, id))?.promote().catch(() => {});
      }
    } finally {
      await queue.close();
    }
  }
}
