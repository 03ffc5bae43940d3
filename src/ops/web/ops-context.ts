import type { Logger } from 'pino';
import type { Config } from '../../config/config.ts';
import type { CancelSignal } from '../../contracts/token.ts';
import { optionsOf } from '../../producer/options.ts';
import { NoticeQueue } from '../../producer/notice-queue.ts';
import { connectRedis, readyWithin } from '../../redis/connect.ts';
import { CHUNK_QUEUE_NAME, keysOf, QUEUE_NAME } from '../../redis/keys.ts';
import { openBullQueue } from '../../redis/open-queue.ts';
import { fleetMetrics } from '../../metrics/fleet-metrics.ts';
import { operationContext } from '../operations/context.ts';
import { openAccess } from './access/access.ts';
import { RedisErrorMonitor } from './http/redis-error-monitor.ts';

/** Configuration and connections of the ops server, opened once and shared by all requests. */
export type OpsContext = Awaited<ReturnType<typeof openOps>>['context'];

/** Limit for each Redis command, in milliseconds. */
const COMMAND_TIMEOUT_MS = 2_000;

/** How long the start waits for Redis, in milliseconds; then the server listens without it. */
const START_TIMEOUT_MS = 1_000;

/**
 * Opens the connections to Redis. Redis may be away: the server then answers 503 until it is available.
 *
 * @throws InputError CONFIG_INVALID
 */
export async function openOps(config: Config, logger: Logger) {
  const { access, firstSignIn } = await openAccess(config.ops);
  const { redis: settings, account, worker } = config;
  const keys = keysOf(settings.prefix, account);
  const redisWatch = new RedisErrorMonitor(settings);
  const onError = (error: unknown) => redisWatch.failed(error);
  // Commands fail at once while Redis is away, and within this time when it hangs.
  const redis = connectRedis(settings, 'ops', onError, COMMAND_TIMEOUT_MS);
  redis.on('ready', () => redisWatch.recovered());
  // Otherwise the first request fails while the connection is being established.
  await readyWithin(redis, START_TIMEOUT_MS);
  const sendQueue = openBullQueue(QUEUE_NAME, redis, keys);
  const chunkQueue = openBullQueue(CHUNK_QUEUE_NAME, redis, keys);
  const notices = new NoticeQueue(optionsOf(config));
  const closing = new AbortController();
  const fleet = { redis, keys, rateLimit: worker.rateLimit.limit, onError };
  const shared = operationContext(redis, config, onError);
  const context = {
    ...shared,
    config: config.ops,
    /** For the top of pages: the account whose queue the server shows, and the name of its environment. */
    place: { account, name: config.ops.name },
    logger,
    access,
    redisWatch,
    sendQueue,
    chunkQueue,
    notices,
    /** Lists that are being imported over HTTP. */
    imports: { running: 0 },
    fleet,
    status: async () => {
      const found = await shared.status();
      redisWatch.recovered();
      return found;
    },
    metrics: fleetMetrics(fleet),
    /** Aborted when the server closes: long operations stop at their next step. */
    closing: closing.signal as CancelSignal,
  };
  return {
    context,
    /** How to sign in to a server that has no configured users; undefined where it has some. */
    firstSignIn,
    close: async () => {
      closing.abort();
      await Promise.all([sendQueue, chunkQueue].map((one) => one.close().catch(() => {})));
      await notices.close();
      redis.disconnect();
    },
  };
}
