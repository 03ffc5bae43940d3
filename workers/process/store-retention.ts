import type { WorkerConfig } from '../../src/config/config.ts';
import { storeRetention } from '../../src/notices/retention.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import type { Keys } from '../../src/redis/keys.ts';
import { KEEP_ACCEPTED_COUNT } from '../queue/send-worker.ts';
import type { AttemptLog } from '../send/attempt-log.ts';

/** Stores what this worker keeps of ended notices, for look-ups and manual actions. An error is logged and changes nothing else. */
export async function storeOwnRetention(
  redis: RedisClient,
  keys: Keys,
  { keepAcceptedMs, keepFailedMs, noticeEvents }: WorkerConfig,
  log: Pick<AttemptLog, 'trouble'>,
): Promise<void> {
  try {
    await storeRetention(redis, keys, {
      acceptedMs: keepAcceptedMs,
      acceptedCount: KEEP_ACCEPTED_COUNT,
      failedMs: keepFailedMs,
      events: noticeEvents,
    });
  } catch (error) {
    log.trouble('retention', error);
  }
}
