import type { WorkerConfig } from '../../src/config/config.ts';
import { storeRetention } from '../../src/notices/retention.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import type { Keys } from '../../src/redis/keys.ts';
import { KEEP_ACCEPTED_COUNT } from '../queue/send-worker.ts';
import type { AttemptLog } from '../send/attempt-log.ts';

/** Stores how long this worker keeps ended notices, for look-ups. An error is logged and changes nothing else. */
export async function storeOwnRetention(
  redis: RedisClient,
  keys: Keys,
  { keepAcceptedMs, keepFailedMs }: Pick<WorkerConfig, 'keepAcceptedMs' | 'keepFailedMs'>,
  log: Pick<AttemptLog, 'trouble'>,
): Promise<void> {
  try {
    await storeRetention(redis, keys, {
      acceptedMs: keepAcceptedMs,
      acceptedCount: KEEP_ACCEPTED_COUNT,
      failedMs: keepFailedMs,
    });
  } catch (error) {
    log.trouble('retention', error);
  }
}
