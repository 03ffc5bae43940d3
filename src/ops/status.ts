import { Queue } from 'bullmq';
import type { Hold } from '../contracts/hold.ts';
import { readWorkers, type SeenWorker } from '../fleet/heartbeat.ts';
import { readHold } from '../fleet/hold/hold-gate.ts';
import { readRateLimit, type RateLimitStatus } from '../fleet/rate-limit/rate-limit-state.ts';
import {
  connectRedis,
  readyWithin,
  type RedisClient,
  type RedisSettings,
} from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import { keysOf, pairName, QUEUE_NAME, type Keys } from '../redis/keys.ts';
import { readRedisFacts, type RedisFacts } from '../redis/facts.ts';
import { judgeRedis, type RedisFinding, type RedisRules } from '../redis/suitability.ts';
import { readTokenStatus, type TokenStatus } from '../token/token-status.ts';
import { NoticeQueueError } from '../contracts/errors.ts';

/** What goes, what waits, what is held and why, at one moment. Durations are milliseconds. */
export interface Status {
  readonly account: string;
  /** In jobs; one job is one send call. */
  readonly jobs: {
    readonly waiting: number;
    readonly active: number;
    /** Waiting for their time or their next attempt. */
    readonly delayed: number;
    /** Accepted jobs that are still kept for a look back. */
    readonly done: number;
    /** Rejected for good or out of attempts, kept until their retention ends. */
    readonly failed: number;
  };
  /**
   * Age of the job that has waited longest; absent when none waits. Of jobs with a priority, the
   * one that goes next is looked at.
   */
  readonly oldestWaitingMs?: number;
  readonly hold?: Hold;
  /** Absent where nothing limits the pace, and nothing ever did. */
  readonly rateLimit?: RateLimitStatus;
  /** Absent where BASE_URL and ACCESS_KEY are not configured: they name the slot. */
  readonly token?: TokenStatus;
  readonly workers: readonly SeenWorker[];
  readonly redis: RedisFacts & { readonly findings: readonly RedisFinding[] };
}

/** Which queue to look at. */
export interface StatusTarget {
  readonly redis: RedisSettings & { readonly prefix: string };
  readonly account: string;
  /** Names the token slot. */
  readonly service?: { readonly baseUrl: string; readonly accessKey: string } | undefined;
  readonly tokenBudgetWindowMs: number;
  /** PACE of this process; 0 by default. */
  readonly rateLimit?: number;
  /** What is asked of Redis. */
  readonly redisRules: RedisRules;
}

/** How long one command to Redis, and the first connection, may take. */
const TIMEOUT_MS = 3_000;

/**
 * Reads the status with a handful of commands, none of which scans.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function readStatus(target: StatusTarget): Promise<Status> {
  const keys = keysOf(target.redis.prefix, target.account);
  let trouble: Error | undefined;
  const onError = (error: Error) => {
    trouble = error;
  };
  const redis = connectRedis(target.redis, 'reader', onError, TIMEOUT_MS);
  let queue: Queue | undefined;
  try {
    if (!(await readyWithin(redis, TIMEOUT_MS))) throw statusFailure(trouble);
    queue = new Queue(QUEUE_NAME, {
      connection: redis,
      prefix: keys.bullPrefix,
      skipMetasUpdate: true,
    });
    queue.on('error', () => {});
    return await statusOf(target, keys, redis, queue);
  } catch (error) {
    throw statusFailure(error);
  } finally {
    await queue?.close().catch(() => {});
    redis.disconnect();
  }
}

/** Reading queues nothing, so nothing is said of a notice. */
function statusFailure(error: unknown): NoticeQueueError {
  const failure = redisFailure(error);
  return failure.code === 'QUEUE_UNAVAILABLE'
    ? new NoticeQueueError(failure.code, `Redis did not answer within ${TIMEOUT_MS} ms.`)
    : failure;
}

/**
 * Reads the status over connections that are open already; {@link readStatus} opens its own.
 *
 * @param queue of single notices
 */
export async function statusOf(
  {
    account,
    service,
    tokenBudgetWindowMs,
    rateLimit: configured = 0,
    redisRules,
  }: Omit<StatusTarget, 'redis'>,
  keys: Keys,
  redis: RedisClient,
  queue: Queue,
): Promise<Status> {
  const [counts, oldest, hold, pace, token, workers, facts] = await Promise.all([
    queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed', 'completed', 'failed'),
    queue.getJobs(['waiting', 'prioritized'], 0, 0, true),
    readHold(redis, keys),
    readRateLimit(redis, keys, configured),
    service === undefined
      ? undefined
      : readTokenStatus(
          redis,
          keys.token(pairName(service.baseUrl, service.accessKey)),
          tokenBudgetWindowMs,
        ),
    readWorkers(redis, keys),
    readRedisFacts(redis, keys),
  ]);
  const waitingSince = oldest.map((job) => job.timestamp + job.delay).sort((a, b) => a - b)[0];
  return {
    account,
    jobs: {
      waiting: (counts['waiting'] ?? 0) + (counts['prioritized'] ?? 0),
      active: counts['active'] ?? 0,
      delayed: counts['delayed'] ?? 0,
      done: counts['completed'] ?? 0,
      failed: counts['failed'] ?? 0,
    },
    ...(waitingSince === undefined
      ? {}
      : { oldestWaitingMs: Math.max(0, Date.now() - waitingSince) }),
    ...(hold === undefined ? {} : { hold }),
    ...(pace === undefined ? {} : { rateLimit: pace }),
    ...(token === undefined ? {} : { token }),
    workers,
    redis: { ...facts, findings: judgeRedis(facts, redisRules) },
  };
}
