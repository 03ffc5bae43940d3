import type { DeliveryPolicy } from '../contracts/delivery.ts';
import { InputError } from '../errors.ts';
import type { Environment } from './environment.ts';
import type { Address } from './option.ts';
import type { OptionValue, Values } from './options.ts';
import { readEnvironment, type ReadOptions } from './read.ts';

/** The whole configuration. Names of durations end in `Ms`: milliseconds. */
export interface Config {
  /** ACCOUNT */
  readonly account: string;
  readonly redis: RedisConfig;
  /** Undefined when a producer has no address or no key pair of the service. */
  readonly service: ServiceConfig | undefined;
  readonly token: TokenConfig;
  readonly queue: QueueConfig;
  readonly worker: WorkerConfig;
  /** Undefined without an address to post them to. */
  readonly alerts: AlertConfig | undefined;
  readonly logLevel: OptionValue<'LOG_LEVEL'>;
}

/** How to reach Redis. Where both lists are empty, `url` names the one server. */
export interface RedisConfig {
  /** May hold a password. Its protocol says whether connections use TLS. */
  readonly url: string;
  /** Takes precedence over the one in `url`, as does `password`. */
  readonly username?: string;
  readonly password?: string;
  readonly sentinels: readonly Address[];
  readonly sentinelName?: string;
  readonly sentinelPassword?: string;
  readonly cluster: readonly Address[];
  /** PEM text, not a path. */
  readonly tlsCa?: string;
  readonly prefix: string;
  readonly connectTimeoutMs: number;
}

/** How to reach the messaging service. */
export interface ServiceConfig {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly apiVersion: OptionValue<'API_VERSION'>;
  readonly tokenPath: string;
  /** The one of `apiVersion`. */
  readonly sendPath: string;
  readonly chatSenderKeyField: string;
  readonly defaultChatSenderKey?: string;
  readonly defaultSenderKey?: string;
  /** PEM text, not a path. */
  readonly tlsCa?: string;
  /** May hold a password. */
  readonly proxyUrl?: string;
  readonly connectTimeoutMs: number;
  readonly answerTimeoutMs: number;
  readonly sendDeadlineMs: number;
  readonly issueDeadlineMs: number;
  readonly notSentRetries: number;
  /** As many as jobs that run at the same time: CONCURRENCY and BATCH_CONCURRENCY. */
  readonly connections: number;
}

/** How the fleet shares one token. */
export interface TokenConfig {
  readonly lockTtlMs: number;
  readonly graceMs: number;
  readonly minAgeMs: number;
  readonly budget: number;
  readonly budgetWindowMs: number;
  readonly refusedMinMs: number;
  readonly refusedMaxMs: number;
  readonly renewBeforeMs: number;
  readonly issueDeadlineMs: number;
}

/** How notices are handed to the queue. */
export interface QueueConfig {
  /** In contacts. */
  readonly chunkSize: number;
  readonly delivery: DeliveryPolicy;
  readonly idempotencyWindowMs: number;
  readonly enqueueTimeoutMs: number;
  /** In contacts. */
  readonly highWater: number;
  readonly batchRetentionMs: number;
  /** Seals and opens; the previous one only opens. */
  readonly payloadKey?: string;
  readonly payloadKeyPrevious?: string;
  /** No find index is kept without. */
  readonly findKey?: string;
  readonly findRetentionMs: number;
}

/** How workers take jobs and what they do when one cannot be sent. */
export interface WorkerConfig {
  readonly concurrency: number;
  readonly batchConcurrency: number;
  readonly processes: number;
  readonly attempts: number;
  readonly backoffBaseMs: number;
  readonly backoffCapMs: number;
  readonly lockDurationMs: number;
  readonly stalledIntervalMs: number;
  readonly holdProbeMinMs: number;
  readonly holdProbeMaxMs: number;
  readonly retryAfterMaxMs: number;
  readonly keepAcceptedMs: number;
  readonly keepFailedMs: number;
  readonly shutdownTimeoutMs: number;
  readonly heartbeatMs: number;
  readonly stallGraceMs: number;
  readonly sendDeadlineMs: number;
}

/** Where alerts are posted, and how. */
export interface AlertConfig {
  /** Secret: such addresses often hold a key. */
  readonly url: string;
  readonly secret: string;
  readonly quietMs: number;
}

/**
 * Reads the configuration.
 *
 * @param environment variables by name; those of this process when left out
 * @throws InputError CONFIG_INVALID, which names every wrong value and every broken rule at once
 */
export function loadConfig(environment?: Environment, options?: ReadOptions): Config {
  const { values, issues } = readEnvironment(environment, options);
  if (issues.length > 0) throw new InputError('CONFIG_INVALID', issues);
  return {
    account: values.ACCOUNT,
    redis: redisConfig(values),
    service: serviceConfig(values),
    token: tokenConfig(values),
    queue: queueConfig(values),
    worker: workerConfig(values),
    alerts: alertConfig(values),
    logLevel: values.LOG_LEVEL,
  };
}

function redisConfig(values: Values): RedisConfig {
  return {
    url: values.REDIS_URL,
    sentinels: values.REDIS_SENTINELS,
    cluster: values.REDIS_CLUSTER,
    prefix: values.REDIS_PREFIX,
    connectTimeoutMs: values.REDIS_CONNECT_TIMEOUT_MS,
    ...onlySet({
      username: values.REDIS_USERNAME,
      password: values.REDIS_PASSWORD,
      sentinelName: values.REDIS_SENTINEL_NAME,
      sentinelPassword: values.REDIS_SENTINEL_PASSWORD,
      tlsCa: values.REDIS_TLS_CA_FILE,
    }),
  };
}

function serviceConfig(values: Values): ServiceConfig | undefined {
  const { BASE_URL: baseUrl, ACCESS_KEY: accessKey, SECRET_KEY: secretKey } = values;
  if (baseUrl === undefined || accessKey === undefined || secretKey === undefined) return undefined;
  return {
    baseUrl,
    accessKey,
    secretKey,
    apiVersion: values.API_VERSION,
    tokenPath: values.TOKEN_PATH,
    sendPath: values.API_VERSION === 'v1' ? values.SEND_PATH_V1 : values.SEND_PATH_V2,
    chatSenderKeyField: values.CHAT_SENDER_KEY_FIELD,
    connectTimeoutMs: values.CONNECT_TIMEOUT_MS,
    answerTimeoutMs: values.ANSWER_TIMEOUT_MS,
    sendDeadlineMs: values.SEND_DEADLINE_MS,
    issueDeadlineMs: values.ISSUE_DEADLINE_MS,
    notSentRetries: values.NOT_SENT_RETRIES,
    connections: values.CONCURRENCY + values.BATCH_CONCURRENCY,
    ...onlySet({
      defaultChatSenderKey: values.DEFAULT_CHAT_SENDER_KEY,
      defaultSenderKey: values.DEFAULT_SENDER_KEY,
      tlsCa: values.TLS_CA_FILE,
      proxyUrl: values.PROXY_URL,
    }),
  };
}

function tokenConfig(values: Values): TokenConfig {
  return {
    lockTtlMs: values.TOKEN_LOCK_TTL_MS,
    graceMs: values.TOKEN_GRACE_MS,
    minAgeMs: values.TOKEN_MIN_AGE_MS,
    budget: values.TOKEN_BUDGET,
    budgetWindowMs: values.TOKEN_BUDGET_WINDOW_MS,
    refusedMinMs: values.TOKEN_REFUSED_MIN_MS,
    refusedMaxMs: values.TOKEN_REFUSED_MAX_MS,
    renewBeforeMs: values.TOKEN_RENEW_BEFORE_MS,
    issueDeadlineMs: values.ISSUE_DEADLINE_MS,
  };
}

function queueConfig(values: Values): QueueConfig {
  return {
    chunkSize: values.CHUNK_SIZE,
    delivery: values.DELIVERY,
    idempotencyWindowMs: values.IDEMPOTENCY_WINDOW_MS,
    enqueueTimeoutMs: values.ENQUEUE_TIMEOUT_MS,
    highWater: values.HIGH_WATER,
    batchRetentionMs: values.BATCH_RETENTION_MS,
    findRetentionMs: values.FIND_RETENTION_MS,
    ...onlySet({
      payloadKey: values.PAYLOAD_KEY,
      payloadKeyPrevious: values.PAYLOAD_KEY_PREVIOUS,
      findKey: values.FIND_KEY,
    }),
  };
}

function workerConfig(values: Values): WorkerConfig {
  return {
    concurrency: values.CONCURRENCY,
    batchConcurrency: values.BATCH_CONCURRENCY,
    processes: values.PROCESSES,
    attempts: values.ATTEMPTS,
    backoffBaseMs: values.BACKOFF_BASE_MS,
    backoffCapMs: values.BACKOFF_CAP_MS,
    lockDurationMs: values.LOCK_DURATION_MS,
    stalledIntervalMs: values.STALLED_INTERVAL_MS,
    holdProbeMinMs: values.HOLD_PROBE_MIN_MS,
    holdProbeMaxMs: values.HOLD_PROBE_MAX_MS,
    retryAfterMaxMs: values.RETRY_AFTER_MAX_MS,
    keepAcceptedMs: values.KEEP_ACCEPTED_MS,
    keepFailedMs: values.KEEP_FAILED_MS,
    shutdownTimeoutMs: values.SHUTDOWN_TIMEOUT_MS,
    heartbeatMs: values.HEARTBEAT_MS,
    stallGraceMs: values.STALL_GRACE_MS,
    sendDeadlineMs: values.SEND_DEADLINE_MS,
  };
}

function alertConfig(values: Values): AlertConfig | undefined {
  const { ALERT_WEBHOOK_URL: url, ALERT_WEBHOOK_SECRET: secret, ALERT_QUIET_MS: quietMs } = values;
  return url === undefined || secret === undefined ? undefined : { url, secret, quietMs };
}

/** Leaves out what is not set, so that an optional field is absent and never undefined. */
function onlySet<T extends Record<string, unknown>>(
  fields: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
