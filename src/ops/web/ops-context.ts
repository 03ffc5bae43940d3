import type { Logger } from 'pino';
import { Ledger } from '../../batch/ledger/ledger.ts';
import { sealingOf } from '../../payload/seal.ts';
import type { Config } from '../../config/config.ts';
import type { CancelSignal } from '../../contracts/token.ts';
import { optionsOf } from '../../producer/options.ts';
import { NoticeQueue } from '../../producer/notice-queue.ts';
import { connectRedis, readyWithin } from '../../redis/connect.ts';
import { CHUNK_QUEUE_NAME, keysOf, QUEUE_NAME } from '../../redis/keys.ts';
import { openBullQueue } from '../../redis/open-queue.ts';
import { fleetMetrics } from '../../metrics/fleet-metrics.ts';
import { readStatus } from '../status.ts';
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
  const { redis: settings, account, queue, worker } = config;
  const keys = keysOf(settings.prefix, account);
  const redisWatch = new RedisErrorMonitor(settings);
  const redis = connectRedis(
    settings,
    'ops',
    (error) => redisWatch.failed(error),
    COMMAND_TIMEOUT_MS,
  );
  redis.on('ready', () => redisWatch.recovered());
  // Otherwise the first request fails while the connection is being established.
  await readyWithin(redis, START_TIMEOUT_MS);
  const sendQueue = openBullQueue(QUEUE_NAME, redis, keys);
  const chunkQueue = openBullQueue(CHUNK_QUEUE_NAME, redis, keys);
  const notices = new NoticeQueue(optionsOf(config));
  const closing = new AbortController();
  const fleet = {
    redis,
    keys,
    rateLimit: worker.rateLimit.limit,
    onError: (error: unknown) => redisWatch.failed(error),
  };
  const status = async () => {
    const found = await readStatus(fleet, {
      account,
      redis: settings,
      redisRules: config.redisWatch,
    });
    redisWatch.recovered();
    return found;
  };
  const context = {
    config: config.ops,
    account,
    /** For the top of pages: the account whose queue the server shows, and the name of its environment. */
    place: { account, name: config.ops.name },
    logger,
    access,
    /** Commands fail at once while Redis is away, and within {@link COMMAND_TIMEOUT_MS} when it hangs. */
    redis,
    redisWatch,
    keys,
    ledger: new Ledger(redis, keys),
    sendQueue,
    chunkQueue,
    notices,
    /** Lists that are being imported over HTTP. */
    imports: { running: 0 },
    sealing: sealingOf(account, queue),
    /** Of the search for a phone number. */
    findSettings: queue,
    /** Shown until a worker has reported its own; 0 for no limit. */
    configuredRateLimit: worker.rateLimit.limit,
    fleet,
    status,
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
