import type { Logger } from 'pino';
import type { TrafficTally } from '../../src/traffic/tally.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { redisErrorWord } from '../../src/redis/failure.ts';
import type { Keys } from '../../src/redis/keys.ts';

/** A stop waits no longer than that for the last report: a Redis that is away must not hold it up. */
const LAST_MS = 1_000;

/**
 * Writes what this process has counted to the traffic record, as often as it says that it lives. A
 * stop writes what is left.
 */
export function startTrafficReport(
  redis: RedisClient,
  keys: Keys,
  tally: TrafficTally,
  everyMs: number,
  log: Logger,
): { stop(): Promise<void> } {
  // One at a time: while Redis is away the counts wait here and not in the client.
  let writing: Promise<void> | undefined;
  const report = () => {
    writing ??= tally
      .write(redis, keys)
      .catch((error: unknown) => {
        log.warn({ event: 'traffic-trouble', code: redisErrorWord(error) });
      })
      .finally(() => {
        writing = undefined;
      });
    return writing;
  };
  const timer = setInterval(() => void report(), everyMs);
  return {
    stop: async () => {
      clearInterval(timer);
      const last = (async () => {
        await writing;
        await report();
      })();
      let patience: NodeJS.Timeout | undefined;
      const over = new Promise<void>((resolve) => {
        patience = setTimeout(resolve, LAST_MS);
      });
      await Promise.race([last, over]);
      clearTimeout(patience);
    },
  };
}
