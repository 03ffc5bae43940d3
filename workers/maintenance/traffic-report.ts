import type { Logger } from 'pino';
import type { TrafficTally } from '../../src/traffic/tally.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { redisErrorCode } from '../../src/redis/failure.ts';
import { withTimeout } from '../../src/async/with-timeout.ts';
import type { Keys } from '../../src/redis/keys.ts';

/** How long a stop waits for the last report, so that an unavailable Redis does not delay it. */
const LAST_MS = 1_000;

/** Writes the counts of this process to the traffic record every `everyMs`, and once more at the stop. */
export function startTrafficReport(
  redis: RedisClient,
  keys: Keys,
  tally: TrafficTally,
  everyMs: number,
  log: Logger,
): { stop(): Promise<void> } {
  // One write at a time: while Redis is unavailable the counts collect here and not in the client.
  let writing: Promise<void> | undefined;
  const report = () => {
    writing ??= tally
      .write(redis, keys)
      .catch((error: unknown) => {
        log.warn({ event: 'traffic-trouble', code: redisErrorCode(error) });
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
      const last = async () => {
        await writing;
        await report();
      };
      await withTimeout(last(), LAST_MS, undefined);
    },
  };
}
