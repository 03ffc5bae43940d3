import type { Logger } from 'pino';
import type { RedisClient } from '../../src/redis/connect.ts';
import { redisErrorWord } from '../../src/redis/failure.ts';
import { ServerClock } from '../../src/redis/server-clock.ts';

/** A wall clock that differs from that of Redis by so much is worth a person's while. */
const SKEW_MS = 5_000;

/**
 * Reads the clock of Redis now and every `everyMs`, and says once when the wall clock of this process
 * is wrong: the queue engine decides by it when a delayed notice is due.
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
      log.warn({ event: 'clock-skew', aheadMs }, 'the clock of this machine is not that of Redis');
    }
  };
  const readOrSay = () =>
    read().catch((error: unknown) => {
      log.warn({ event: 'clock-trouble', code: redisErrorWord(error) });
    });
  await readOrSay();
  const timer = setInterval(() => void readOrSay(), everyMs);
  return {
    now: () => clock.now(),
    stop: () => clearInterval(timer),
  };
}
