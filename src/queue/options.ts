import { z } from 'zod';
import { OPTIONS } from '../config/options.ts';
import { optionSchema } from '../config/schema.ts';
import { parseInput } from '../contracts/parse-input.ts';

/**
 * Options of {@link NoticeQueue}. Each means the same, with the same bounds and default, as the
 * environment variable that docs/configuration.md lists under its name.
 */
export interface NoticeQueueOptions {
  /** Where Redis is. */
  redis?: {
    /** REDIS_URL. @default 'redis://127.0.0.1:6379' */
    url?: string;
    /** REDIS_USERNAME */
    username?: string;
    /** REDIS_PASSWORD */
    password?: string;
    /** REDIS_SENTINELS, with `sentinelName` */
    sentinels?: readonly { host: string; port: number }[];
    /** REDIS_SENTINEL_NAME */
    sentinelName?: string;
    /** REDIS_SENTINEL_PASSWORD */
    sentinelPassword?: string;
    /** REDIS_CLUSTER; excludes `sentinels` */
    cluster?: readonly { host: string; port: number }[];
    /** PEM text of the authority that signed the server's certificate (REDIS_TLS_CA_FILE). */
    tlsCa?: string;
    /** REDIS_CONNECT_TIMEOUT_MS. @default 2000 */
    connectTimeoutMs?: number;
  };
  /** REDIS_PREFIX. @default 'notices' */
  prefix?: string;
  /** ACCOUNT. @default 'default' */
  account?: string;
  /** CHUNK_SIZE, in contacts. @default 1000 */
  chunkSize?: number;
  /** IDEMPOTENCY_WINDOW_MS. @default 86400000 (a day) */
  idempotencyWindowMs?: number;
  /** ENQUEUE_TIMEOUT_MS. @default 2000 */
  enqueueTimeoutMs?: number;
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
  });

const optionsSchema = z.strictObject(
  {
    redis: redisSchema.prefault({}),
    prefix: optionSchema('REDIS_PREFIX').default(OPTIONS.REDIS_PREFIX.default),
    account: optionSchema('ACCOUNT').default(OPTIONS.ACCOUNT.default),
    chunkSize: optionSchema('CHUNK_SIZE').default(OPTIONS.CHUNK_SIZE.default),
    idempotencyWindowMs: optionSchema('IDEMPOTENCY_WINDOW_MS').default(
      OPTIONS.IDEMPOTENCY_WINDOW_MS.default,
    ),
    enqueueTimeoutMs: optionSchema('ENQUEUE_TIMEOUT_MS').default(
      OPTIONS.ENQUEUE_TIMEOUT_MS.default,
    ),
  },
  'expected an options object',
);

/** Options with every default in place. */
export type QueueSettings = z.output<typeof optionsSchema>;

/** @throws InputError CONFIG_INVALID that names every wrong or unknown option */
export function readQueueOptions(options: unknown): QueueSettings {
  return parseInput(optionsSchema, options, 'CONFIG_INVALID');
}
