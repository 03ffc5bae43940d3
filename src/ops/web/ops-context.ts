import type { Queue } from 'bullmq';
import type { Logger } from 'pino';
import { Ledger } from '../../batch/ledger/ledger.ts';
import { sealingOf, type Sealing } from '../../payload/seal.ts';
import type { Config } from '../../config/config.ts';
import type { OpsConfig } from '../../config/config.ts';
import { optionsOf } from '../../producer/options.ts';
import { NoticeQueue } from '../../producer/notice-queue.ts';
import { connectRedis, readyWithin, type RedisClient } from '../../redis/connect.ts';
import { CHUNK_QUEUE_NAME, keysOf, QUEUE_NAME, type Keys } from '../../redis/keys.ts';
import { openBullQueue } from '../../redis/open-queue.ts';
import type { FindContext } from '../../search/find-in-queue.ts';
import { fleetMetrics, type FleetMetrics } from '../../metrics/fleet-metrics.ts';
import type { FleetSource } from '../snapshot.ts';
import { readStatus, type Status } from '../status.ts';
import { openAccess, type Access, type FirstSignIn } from './access/access.ts';
import { RedisErrorMonitor } from './http/redis-error-monitor.ts';

/** Configuration and connections of the ops server, opened once and shared by all requests. */
export interface OpsContext {
  readonly config: OpsConfig;
  readonly account: string;
  readonly logger: Logger;
  readonly access: Access;
  /** Commands fail at once while Redis is away, and within {@link COMMAND_TIMEOUT_MS} when it hangs. */
  readonly redis: RedisClient;
  readonly redisWatch: RedisErrorMonitor;
  readonly keys: Keys;
  readonly ledger: Ledger;
  /** BullMQ queues of single notices and of chunks, for counts and the board. */
  readonly sendQueue: Queue;
  readonly chunkQueue: Queue;
  /** Enqueues notices of programs. */
  readonly notices: NoticeQueue;
  readonly sealing: Sealing;
  /** Settings of the search for a phone number. */
  readonly findSettings: FindContext['settings'];
  /** The configured rate limit, shown until a worker has reported its own; 0 for no limit. */
  readonly configuredRateLimit: number;
  /** Reads the account's state. */
  readonly fleet: FleetSource;
  /** Reads the status. */
  readonly status: () => Promise<Status>;
  /** The account's metrics for Prometheus. */
  readonly metrics: FleetMetrics;
  /** Aborted when the server closes: long operations stop at their next step. */
  readonly closing: AbortSignal;
}

/** A context with what only its owner may do. */
export interface OpenOps {
  readonly context: OpsContext;
  /** How to sign in to a server that has no configured users; undefined where it has some. */
  readonly firstSignIn: FirstSignIn | undefined;
  readonly close: () => Promise<void>;
}

/** Limit for each Redis command, in milliseconds. */
const COMMAND_TIMEOUT_MS = 2_000;

/** How long the start waits for Redis, in milliseconds; then the server listens without it. */
const START_TIMEOUT_MS = 1_000;

/**
 * Opens the connections to Redis. Redis may be away: the server then answers 503 until it is available.
 *
 * @throws InputError CONFIG_INVALID
 */
export async function openOps(config: Config, logger: Logger): Promise<OpenOps> {
  const { access, firstSignIn } = await openAccess(config.ops);
  const { redis: settings, account, queue, worker } = config;
  const keys = keysOf(settings.prefix, account);
  const redisWatch = new RedisErrorMonitor(settings);
  const redis = connectRedis(
    settings,
    'ops',
    (error) => redisWatch.failed(error, Date.now()),
    COMMAND_TIMEOUT_MS,
  );
  redis.on('ready', () => redisWatch.recovered());
  // Otherwise the first request fails while the connection is being established.
  await readyWithin(redis, START_TIMEOUT_MS);
  const sendQueue = openBullQueue(QUEUE_NAME, redis, keys);
  const chunkQueue = openBullQueue(CHUNK_QUEUE_NAME, redis, keys);
  const notices = new NoticeQueue(optionsOf(config));
  const ledger = new Ledger(redis, keys);
  const closing = new AbortController();
  const fleet = {
    redis,
    keys,
    rateLimit: worker.rateLimit.limit,
    onError: (error: unknown) => redisWatch.failed(error, Date.now()),
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
  const context: OpsContext = {
    config: config.ops,
    account,
    logger,
    access,
    redis,
    redisWatch,
    keys,
    ledger,
    sendQueue,
    chunkQueue,
    notices,
    sealing: sealingOf(account, queue),
    findSettings: queue,
    configuredRateLimit: worker.rateLimit.limit,
    fleet,
    status,
    metrics: fleetMetrics(fleet),
    closing: closing.signal,
  };
  return {
    context,
    firstSignIn,
    close: async () => {
      closing.abort();
      await Promise.all([sendQueue, chunkQueue].map((one) => one.close().catch(() => {})));
      await notices.close();
      redis.disconnect();
    },
  };
}
