import type { DeliveryPolicy } from '../contracts/delivery.ts';
import { InputError } from '../contracts/errors.ts';
import type { Environment } from './environment.ts';
import { onlySet } from './only-set.ts';
import type { OptionValue, Values } from './options.ts';
import { opsConfig, type OpsConfig } from './ops-config.ts';
import { readEnvironment, type ReadOptions } from './read.ts';
import {
  redisConfig,
  redisWatchConfig,
  restoreConfig,
  type RedisConfig,
  type RedisWatchConfig,
  type RestoreConfig,
} from './redis-config.ts';
import { workerConfig, type WorkerConfig } from './worker-config.ts';

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
  readonly redisWatch: RedisWatchConfig;
  readonly restore: RestoreConfig;
  readonly ops: OpsConfig;
  /** Undefined without an address to post them to. */
  readonly alerts: AlertConfig | undefined;
  readonly logLevel: OptionValue<'LOG_LEVEL'>;
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
  /** As many as requests that are under way at the same time: CONCURRENCY and BATCH_CONCURRENCY. */
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
    redisWatch: redisWatchConfig(values),
    restore: restoreConfig(values),
    ops: opsConfig(values),
    alerts: alertConfig(values),
    logLevel: values.LOG_LEVEL,
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

function alertConfig(values: Values): AlertConfig | undefined {
  const { ALERT_WEBHOOK_URL: url, ALERT_WEBHOOK_SECRET: secret, ALERT_QUIET_MS: quietMs } = values;
  return url === undefined || secret === undefined ? undefined : { url, secret, quietMs };
}
