import { z } from 'zod';
import { OPTIONS } from '../config/options.ts';
import { optionSchema } from '../config/schema.ts';
import type { DeliveryPolicy } from '../contracts/delivery.ts';
import { parseInput } from '../contracts/parse-input.ts';

/**
 * Options of {@link NoticeQueue}. Each means the same, with the same bounds and default, as the
 * environment variable that docs/configuration.md lists under its name.
 */
export interface NoticeQueueOptions {
  /** Where Redis is. */
  redis?:
    | {
        /** REDIS_URL. @default 'redis://127.0.0.1:6379' */
        url?: string | undefined;
        /** REDIS_USERNAME */
        username?: string | undefined;
        /** REDIS_PASSWORD */
        password?: string | undefined;
        /** REDIS_SENTINELS, with `sentinelName` */
        sentinels?: readonly { host: string; port: number }[] | undefined;
        /** REDIS_SENTINEL_NAME */
        sentinelName?: string | undefined;
        /** REDIS_SENTINEL_PASSWORD */
        sentinelPassword?: string | undefined;
        /** REDIS_CLUSTER; excludes `sentinels` */
        cluster?: readonly { host: string; port: number }[] | undefined;
        /** PEM text of the authority that signed the server's certificate (REDIS_TLS_CA_FILE). */
        tlsCa?: string | undefined;
        /** REDIS_CONNECT_TIMEOUT_MS. @default 2000 */
        connectTimeoutMs?: number | undefined;
      }
    | undefined;
  /** REDIS_PREFIX. @default 'notices' */
  prefix?: string | undefined;
  /** ACCOUNT. @default 'default' */
  account?: string | undefined;
  /** CHUNK_SIZE, in contacts. @default 1000 */
  chunkSize?: number | undefined;
  /** DELIVERY, of notices whose send says nothing else. @default 'at-least-once' */
  delivery?: DeliveryPolicy | undefined;
  /** IDEMPOTENCY_WINDOW_MS. @default 86400000 (a day) */
  idempotencyWindowMs?: number | undefined;
  /** ENQUEUE_TIMEOUT_MS. @default 2000 */
  enqueueTimeoutMs?: number | undefined;
  /** HIGH_WATER, in contacts. @default 1000000 */
  highWater?: number | undefined;
  /** BATCH_RETENTION_MS. @default 2592000000 (30 days) */
  batchRetentionMs?: number | undefined;
  /** PAYLOAD_KEY: seals the contacts of batches; workers need the same. */
  payloadKey?: string | undefined;
  /** FIND_KEY: numbers can be found by their hashes under it; no index is kept without. */
  findKey?: string | undefined;
  /** FIND_RETENTION_MS. @default 604800000 (7 days) */
  findRetentionMs?: number | undefined;
}

const redisSchema = z
  .strictObject(
    {
      url: optionSchema('REDIS_URL').default(OPTIONS.REDIS_URL.default),
      username: optionSchema('REDIS_USERNAME').optional(),
      password: optionSchema('REDIS_PASSWORD').optional(),
      sentinels: optionSchema('REDIS_SENTINELS').default([]),
      sentinelName: optionSchema('REDIS_SENTINEL_NAME').optional(),
      sentinelPassword: optionSchema('REDIS_SENTINEL_PASSWORD').optional(),
      cluster: optionSchema('REDIS_CLUSTER').default([]),
      tlsCa: optionSchema('REDIS_TLS_CA_FILE').optional(),
      connectTimeoutMs: optionSchema('REDIS_CONNECT_TIMEOUT_MS').default(
        OPTIONS.REDIS_CONNECT_TIMEOUT_MS.default,
      ),
    },
    'expected an object',
  )
  .superRefine((redis, context) => {
    const refuse = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message });
    if (redis.sentinels.length > 0 !== (redis.sentinelName !== undefined)) {
      refuse('sentinelName', 'expected sentinels and sentinelName together');
    }
    if (redis.sentinels.length > 0 && redis.cluster.length > 0) {
      refuse('cluster', 'expected either sentinels or cluster, not both');
    }
    if (redis.cluster.length > 0 && !/^\/?0*$/.test(new URL(redis.url).pathname)) {
      refuse('url', 'expected no database other than 0 beside cluster, which has no other');
    }
    if (redis.tlsCa !== undefined && !redis.url.startsWith('rediss:')) {
      refuse('url', 'expected rediss:// beside tlsCa, which would not be used otherwise');
    }
  });

const optionsSchema = z.strictObject(
  {
    redis: redisSchema.prefault({}),
    prefix: optionSchema('REDIS_PREFIX').default(OPTIONS.REDIS_PREFIX.default),
    account: optionSchema('ACCOUNT').default(OPTIONS.ACCOUNT.default),
    chunkSize: optionSchema('CHUNK_SIZE').default(OPTIONS.CHUNK_SIZE.default),
    delivery: optionSchema('DELIVERY').default(OPTIONS.DELIVERY.default),
    idempotencyWindowMs: optionSchema('IDEMPOTENCY_WINDOW_MS').default(
      OPTIONS.IDEMPOTENCY_WINDOW_MS.default,
    ),
    enqueueTimeoutMs: optionSchema('ENQUEUE_TIMEOUT_MS').default(
      OPTIONS.ENQUEUE_TIMEOUT_MS.default,
    ),
    highWater: optionSchema('HIGH_WATER').default(OPTIONS.HIGH_WATER.default),
    batchRetentionMs: optionSchema('BATCH_RETENTION_MS').default(
      OPTIONS.BATCH_RETENTION_MS.default,
    ),
    payloadKey: optionSchema('PAYLOAD_KEY').optional(),
    findKey: optionSchema('FIND_KEY').optional(),
    findRetentionMs: optionSchema('FIND_RETENTION_MS').default(OPTIONS.FIND_RETENTION_MS.default),
  },
  'expected an options object',
);

/** Options with every default in place. */
export type QueueSettings = z.output<typeof optionsSchema>;

/** @throws InputError CONFIG_INVALID that names every wrong or unknown option */
export function readQueueOptions(options: unknown): QueueSettings {
  return parseInput(optionsSchema, options, 'CONFIG_INVALID', '', 'options');
}
