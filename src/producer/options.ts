import { z } from 'zod';
import { queueVariables } from '../config/variables/queue.ts';
import { redisVariables } from '../config/variables/redis.ts';
import { generalVariables } from '../config/variables.ts';
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

// The rows of the environment variables are the schemas of the options, so that both have the same bounds
// and defaults. A program may also pass `undefined`, which means the default.
const { prefix, username, password, sentinelName, sentinelPassword, tlsCa, ...connection } =
  redisVariables;
const { payloadKey, payloadKeyPrevious: _, findKey, ...queue } = queueVariables;

const redisSchema = z
  .strictObject(
    {
      ...connection,
      username: username.unwrap().optional(),
      password: password.unwrap().optional(),
      sentinelName: sentinelName.unwrap().optional(),
      sentinelPassword: sentinelPassword.unwrap().optional(),
      tlsCa: tlsCa.unwrap().optional(),
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
    ...queue,
    prefix,
    account: generalVariables.account,
    payloadKey: payloadKey.unwrap().optional(),
    findKey: findKey.unwrap().optional(),
  },
  'expected an options object',
);

/** Options with every default in place. */
export type QueueSettings = z.output<typeof optionsSchema>;

/** @throws InputError CONFIG_INVALID that names every wrong or unknown option */
export function readQueueOptions(options: unknown): QueueSettings {
  return parseInput(optionsSchema, options, 'CONFIG_INVALID', '', 'options');
}
