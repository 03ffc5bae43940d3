import type { Queue } from 'bullmq';
import type { Logger } from 'pino';
import { Ledger } from '../../batch/ledger/ledger.ts';
import { payloadKeys, type PayloadKey } from '../../batch/payload/payload-key.ts';
import type { Config } from '../../config/config.ts';
import type { OpsConfig } from '../../config/config.ts';
import { NoticeQueue } from '../../producer/notice-queue.ts';
import { connectRedis, readyWithin, type RedisClient } from '../../redis/connect.ts';
import { CHUNK_QUEUE_NAME, keysOf, pairName, QUEUE_NAME, type Keys } from '../../redis/keys.ts';
import { openBullQueue } from '../../redis/open-queue.ts';
import type { FindContext } from '../../search/find-contact.ts';
import { fleetMetrics, type FleetMetrics } from '../../metrics/fleet-metrics.ts';
import { FleetReader } from '../snapshot.ts';
import { statusOf, type Status } from '../status.ts';
import { openAccess, type Access, type Invitation } from './access/access.ts';
import { LiveFeed } from './live/feed.ts';
import { RedisErrorMonitor } from './http/redis-error-monitor.ts';

/** What the ops server works with. All of it is opened once and shared by all requests. */
export interface OpsContext {
  readonly config: OpsConfig;
  readonly account: string;
  readonly logger: Logger;
  readonly access: Access;
  /** Fails at once while Redis is away, and within {@link COMMAND_TIMEOUT_MS} when it is frozen. */
  readonly redis: RedisClient;
  readonly redisWatch: RedisErrorMonitor;
  readonly keys: Keys;
  readonly ledger: Ledger;
  /** BullMQ's queues of single notices and of chunks: for counts and the board. */
  readonly sendQueue: Queue;
  readonly chunkQueue: Queue;
  /** Hands over notices for programs. */
  readonly notices: NoticeQueue;
  readonly payloadKeys: readonly PayloadKey[];
  /** What a search for a phone number goes by. */
  readonly findSettings: FindContext['settings'];
  /** The configured rate limit, shown until a worker has reported its own; 0 for no limit. */
  readonly configuredRateLimit: number;
  readonly feed: LiveFeed;
  /** Reads the account's state. */
  readonly fleet: FleetReader;
  /** The status, with a handful of commands. */
  readonly status: () => Promise<Status>;
  /** The account's metrics for Prometheus. */
  readonly metrics: FleetMetrics;
  /** Aborted when the server closes: long work stops at the next step. */
  readonly closing: AbortSignal;
}

/** Parts with what only their owner may do. */
export interface OpenOps {
  readonly context: OpsContext;
  /** For whoever started a server that has no users. */
  readonly invitation: Invitation | undefined;
  readonly close: () => Promise<void>;
}

/** How long one command to Redis may take. */
const COMMAND_TIMEOUT_MS = 2_000;

/** How long the start waits for Redis; then the server listens, and says that Redis is away. */
const PATIENCE_MS = 1_000;

/**
 * Opens connections to Redis, which may be away: the server then says so until it is there.
 *
 * @throws InputError CONFIG_INVALID
 */
export async function openOps(config: Config, logger: Logger): Promise<OpenOps> {
  const { access, invitation } = await openAccess(config.ops);
  const { redis: settings, account, queue, service, token, worker } = config;
  const keys = keysOf(settings.prefix, account);
  const redisWatch = new RedisErrorMonitor(settings);
  const redis = connectRedis(
    settings,
    'producer',
    (error) => redisWatch.failed(error, Date.now()),
    COMMAND_TIMEOUT_MS,
  );
  redis.on('ready', () => redisWatch.recovered());
  // The first request would meet a connection that is only being made.
  await readyWithin(redis, PATIENCE_MS);
  const sendQueue = openBullQueue(QUEUE_NAME, redis, keys);
  const chunkQueue = openBullQueue(CHUNK_QUEUE_NAME, redis, keys);
  const { prefix, ...connection } = settings;
  const { payloadKeyPrevious: _, ...queueSettings } = queue;
  const notices = new NoticeQueue({ redis: connection, prefix, account, ...queueSettings });
  const ledger = new Ledger(redis, keys);
  const closing = new AbortController();
  const fleet = new FleetReader({
    redis,
    keys,
    queues: { notices: sendQueue, chunks: chunkQueue },
    pair: service && pairName(service.baseUrl, service.accessKey),
    tokenBudgetWindowMs: token.budgetWindowMs,
    rateLimit: worker.rateLimit.limit,
    onError: (error) => redisWatch.failed(error, Date.now()),
  });
  const status = async () => {
    const found = await statusOf(fleet, { account, redisRules: config.redisWatch });
    redisWatch.recovered();
    return found;
  };
  const feed = new LiveFeed({ status, ledger, redis, keys, redisWatch });
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
    payloadKeys: payloadKeys(queue),
    findSettings: { ...queue, keepFailedMs: worker.keepFailedMs },
    configuredRateLimit: worker.rateLimit.limit,
    feed,
    fleet,
    status,
    metrics: fleetMetrics(fleet),
    closing: closing.signal,
  };
  return {
    context,
    invitation,
    close: async () => {
      closing.abort();
      await feed.close();
      await Promise.all([sendQueue, chunkQueue].map((one) => one.close().catch(() => {})));
      await notices.close();
      redis.disconnect();
    },
  };
}
