import type { Logger } from 'pino';
import type { BackgroundService } from '../../src/async/lifecycle.ts';
import type { Config } from '../../src/config/config.ts';
import { createEventWatch } from '../../src/events/watch.ts';
import { readWatched } from '../../src/ops/snapshot.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import type { Keys } from '../../src/redis/keys.ts';

/** Watches the account and posts its events where a webhook is configured; otherwise it does nothing. */
export function watchEvents(
  redis: RedisClient,
  keys: Keys,
  config: Pick<Config, 'events' | 'account'> & { readonly redis: { readonly prefix: string } },
  log: Logger,
  isWorker: boolean,
): BackgroundService {
  const { events: webhook, account } = config;
  if (webhook === undefined) return { start: () => {}, stop: () => Promise.resolve() };
  return createEventWatch({
    redis,
    keys,
    webhook,
    queue: `${config.redis.prefix}:${account}`,
    look: () => readWatched({ redis, keys }),
    isWorker,
    log,
  });
}
