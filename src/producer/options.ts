import { z } from 'zod';
import { OPTIONS } from '../config/options.ts';
import { optionSchema } from '../config/schema.ts';
import type { DeliveryPolicy } from '../contracts/delivery.ts';
import { parseInput } from '../contracts/parse-input.ts';

/**
 * Options of `NoticeQueue`. All are optional. Each has the meaning, range and default of the
 * environment variable in its description (docs/configuration.md); the environment itself is not read.
 * Producers, importers and workers that use the same queue need the same `redis`, `prefix`, `account`,
 * `payloadKey` and `findKey`.
 */
export interface NoticeQueueOptions {
  /** How to connect to Redis. */
  redis?:
    | {
        /**
         * URL of the server, `redis://` or, with TLS, `rediss://`. Variable REDIS_URL.
         * @default 'redis://127.0.0.1:6379'
         */
        url?: string | undefined;
        /** Overrides the user name of the URL. Variable REDIS_USERNAME. */
        username?: string | undefined;
        /** Overrides the password of the URL. Variable REDIS_PASSWORD. */
        password?: string | undefined;
        /** Sentinels to ask for the master; needs `sentinelName`. Variable REDIS_SENTINELS. */
        sentinels?: readonly { host: string; port: number }[] | undefined;
        /** Name of the master that the sentinels watch. Variable REDIS_SENTINEL_NAME. */
        sentinelName?: string | undefined;
        /** Password of the sentinels themselves. Variable REDIS_SENTINEL_PASSWORD. */
        sentinelPassword?: string | undefined;
        /** Nodes of a cluster; excludes `sentinels`. Variable REDIS_CLUSTER. */
        cluster?: readonly { host: string; port: number }[] | undefined;
        /**
         * PEM text of the authority that signed the server's certificate; needs a `rediss://` URL. The
         * variable REDIS_TLS_CA_FILE names a file with it.
         */
        tlsCa?: string | undefined;
        /**
         * Time limit of opening a connection, in milliseconds. Variable REDIS_CONNECT_TIMEOUT_MS.
         * @default 2000
         */
        connectTimeoutMs?: number | undefined;
      }
    | undefined;
  /** First part of all Redis keys. Variable REDIS_PREFIX. @default 'notices' */
  prefix?: string | undefined;
  /** Name of the account: one key pair of the service with its own queue. Variable ACCOUNT. @default 'default' */
  account?: string | undefined;
  /**
   * The most contacts of one send request; a notice with more is sent in several requests. Variable
   * CHUNK_SIZE.
   * @default 1000
   */
  chunkSize?: number | undefined;
  /**
   * What happens after an unknown outcome, for sends without their own `delivery`.
   * Variable DELIVERY.
   * @default 'at-least-once'
   */
  delivery?: DeliveryPolicy | undefined;
  /**
   * For how long an idempotency key prevents a second notice, in milliseconds. Variable
   * IDEMPOTENCY_WINDOW_MS.
   * @default 86400000 (a day)
   */
  idempotencyWindowMs?: number | undefined;
  /**
   * A call fails with QUEUE_UNAVAILABLE if Redis does not answer within this time, in milliseconds.
   * Variable ENQUEUE_TIMEOUT_MS.
   * @default 2000
   */
  enqueueTimeoutMs?: number | undefined;
  /**
   * An import waits while Redis holds this many unsent contacts of batches; it bounds the memory of
   * Redis. Variable HIGH_WATER.
   * @default 1000000
   */
  highWater?: number | undefined;
  /**
   * How long a batch is kept after its end, with its failed contacts, in milliseconds. Variable
   * BATCH_RETENTION_MS.
   * @default 2592000000 (30 days)
   */
  batchRetentionMs?: number | undefined;
  /**
   * Encrypts the stored contacts of batches: 32 random bytes as base64 or hex. Workers need the same key.
   * Variable PAYLOAD_KEY.
   * @default stored unencrypted
   */
  payloadKey?: string | undefined;
  /**
   * Makes notices searchable by phone number (see `findContact`): 32 random bytes as base64 or hex.
   * Only keyed hashes of numbers are stored. Variable FIND_KEY.
   * @default not searchable
   */
  findKey?: string | undefined;
  /**
   * For how long notices are searchable, in milliseconds. Variable FIND_RETENTION_MS.
   * @default 604800000 (7 days)
   */
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
      refuse('url', 'expected database 0: a cluster has no other');
    }
    if (redis.tlsCa !== undefined && !redis.url.startsWith('rediss:')) {
      refuse('url', 'expected rediss://, because tlsCa is set');
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

/** Valid options with default values. */
export type QueueSettings = z.output<typeof optionsSchema>;

/** Checks the options. @throws InputError CONFIG_INVALID that names every invalid or unknown option */
export function readQueueOptions(options: unknown): QueueSettings {
  return parseInput(optionsSchema, options, 'CONFIG_INVALID', '', 'options');
}
