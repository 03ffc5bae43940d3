import type { Logger } from 'pino';
import type { BackgroundService } from '../../src/async/lifecycle.ts';
import { redisErrorFields } from '../../src/redis/failure.ts';

/** Writes the counts of this process to the traffic record every `everyMs`, and once more at the stop. */
export function createTrafficReport(
  write: () => Promise<void>,
  everyMs: number,
  log: Logger,
): BackgroundService {
  // One write at a time: while Redis is unavailable the counts collect here and not in the client.
  let writing: Promise<void> | undefined;
  const report = () => {
    writing ??= write()
      .catch((error: unknown) => {
        log.warn({ event: 'traffic-trouble', ...redisErrorFields(error) });
      })
      .finally(() => {
        writing = undefined;
      });
    return writing;
  };
  let timer: NodeJS.Timeout | undefined;
  return {
    start: () => {
      timer ??= setInterval(() => void report(), everyMs);
    },
    stop: async () => {
      clearInterval(timer);
      await writing;
      await report();
    },
  };
}
