import type { BackgroundService } from '../../src/async/lifecycle.ts';
import { repeat } from '../../src/async/repeat.ts';
import { redisErrorFields } from '../../src/redis/failure.ts';
import { ServerClock } from '../../src/redis/server-clock.ts';
import type { WorkerBasis } from './worker-basis.ts';

/** A difference between the wall clock and Redis time that is logged. */
const SKEW_MS = 5_000;

/**
 * The clock of Redis, read at the start and with each heartbeat. Logs once when the wall clock of this process differs:
 * times in logs are wrong then.
 */
export function createClock({
  redis,
  config,
  log,
}: WorkerBasis): BackgroundService & { readonly now: () => number } {
  const clock = new ServerClock(redis);
  let warned = false;
  const read = async () => {
    try {
      await clock.read();
    } catch (error) {
      log.warn({ event: 'clock-trouble', ...redisErrorFields(error) });
      return;
    }
    const { aheadMs } = clock;
    const differs = Math.abs(aheadMs) >= SKEW_MS;
    if (differs && !warned) {
      const words = 'the clock of this machine differs from that of Redis';
      log.warn({ event: 'clock-skew', aheadMs }, words);
    }
    warned = differs;
  };
  const reads = repeat(read, config.worker.heartbeatMs);
  return {
    now: () => clock.now(),
    start: async () => {
      await read();
      reads.start();
    },
    // Redis may not answer the read that is under way.
    stop: () => void reads.stop(),
  };
}
