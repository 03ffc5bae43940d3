import type { Logger } from 'pino';
import type { RedisClient } from '../../src/redis/connect.ts';
import { redisErrorCode } from '../../src/redis/failure.ts';
import { ServerClock } from '../../src/redis/server-clock.ts';

/** A difference between the wall clock and Redis time that is logged. */
const SKEW_MS = 5_000;

/**
 * Reads the clock of Redis now and every `everyMs`, and logs once when the wall clock of this process
 * differs: BullMQ decides by the wall clock when a delayed notice is due.
 */
export async function startWorkerClock(
  redis: RedisClient,
  everyMs: number,
  log: Logger,
): Promise<{ readonly now: () => number; stop(): void }> {
  const clock = new ServerClock(redis);
  let warned = false;
  const read = async () => {
    await clock.read();
    const { aheadMs } = clock;
    if (Math.abs(aheadMs) < SKEW_MS) {
      warned = false;
    } else if (!warned) {
      warned = true;
      log.warn(
        { event: 'clock-skew', aheadMs },
        'the clock of this machine differs from that of Redis',
      );
    }
  };
  const readOrLog = () =>
    read().catch((error: unknown) => {
      log.warn({ event: 'clock-trouble', code: redisErrorCode(error) });
    });
  await readOrLog();
  const timer = setInterval(() => void readOrLog(), everyMs);
  return {
    now: () => clock.now(),
    stop: () => clearInterval(timer),
  };
}
