import { z } from 'zod';
import type { ImportOptions } from '../batch/import/import-options.ts';
import { plainRemoteHosts } from '../config/address.ts';
import { loadConfig, type Config } from '../config/config.ts';
import { processEnvironment, type Environment } from '../config/environment.ts';
import { environmentIssues } from '../config/rules.ts';
import { duration } from '../config/variable.ts';
import { generalVariables } from '../config/variables.ts';
import { queueVariables } from '../config/variables/queue.ts';
import { redisVariables } from '../config/variables/redis.ts';
import { InputError } from '../contracts/errors.ts';
import type { DeliveryPolicy } from '../contracts/outcome.ts';
import { parseInput } from '../contracts/parse-input.ts';

/**
 * Options of `NoticeQueue`. All are optional. Each has the meaning, range and default of the
 * environment variable in its description, where it names one (docs/configuration.md); the environment itself is not read, but
 * NODE_TLS_REJECT_UNAUTHORIZED=0 is refused.
 * Producers, importers and workers that use the same queue need the same `redis`, `prefix`, `account`,
 * `payloadKey` and `findKey`.
 */
export interface NoticeQueueOptions {
  /** How to connect to Redis. */
  redis?:
    | {
        /**
         * URL of the server: `rediss://` (TLS), or `redis://` for this machine and `insecureHosts`. Variable
         * REDIS_URL.
         * @default 'redis://127.0.0.1:6379'
         */
        url?: string | undefined;
        /**
         * Hosts other than this machine that may be reached without TLS; passwords, phone numbers and the
         * content of messages then cross the network unencrypted. Variable INSECURE_HOSTS.
         * @default []
         */
        insecureHosts?: readonly string[] | undefined;
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
        /**
         * PEM text of the authority that signed the server's certificate; needs a `rediss://` URL. The
         * variable REDIS_TLS_CA_FILE names a file with it.
         */
        tlsCa?: string | undefined;
        /**
         * Time limit of opening a connection, in milliseconds.
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
   * The most contacts of one send request of an import. Variable CHUNK_SIZE.
   * @default 1000
   */
  chunkSize?: number | undefined;
  /**
   * For how long a list is compared with later lists of the same template, in milliseconds; 0 for not at all. Variable
   * REPEAT_WINDOW.
   * @default 604800000 (7 days)
   */
  repeatWindowMs?: number | undefined;
  /**
   * Country whose national phone numbers lists have: `KR`, `JP` or `US`. Variable COUNTRY.
   * @default none: numbers have 8 to 15 digits
   */
  country?: ImportOptions['country'];
  /**
   * What happens after an unknown outcome, for sends and imports without their own
   * `delivery`. Variable DELIVERY.
   * @default 'at-least-once'
   */
  delivery?: DeliveryPolicy | undefined;
  /**
   * For how long after a notice is due its idempotency key prevents a second one, in milliseconds.
   * Variable IDEMPOTENCY_WINDOW_MS.
   * @default 86400000 (a day)
   */
  idempotencyWindowMs?: number | undefined;
  /**
   * A call fails with QUEUE_UNAVAILABLE if Redis answers nothing within this time, in milliseconds; at most
   * 30 s.
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
   * How long what was not accepted is kept, a batch after its end included, and for how long notices are searchable, in
   * milliseconds. Variable KEEP_FAILED_MS, of the workers, too.
   * @default 604800000 (7 days)
   */
  keepFailedMs?: number | undefined;
  /**
   * Encrypts the stored notices and contacts of batches: 32 random bytes as base64 or hex. Workers and ops servers
   * need the same key.
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
}

// The rows of the environment variables are the schemas of the options, so that both have the same bounds
// and defaults. A program may also pass `undefined`, which means the default.
const { prefix, username, password, sentinelName, sentinelPassword, ...others } = redisVariables;
const { tlsCa, ...connection } = others;
const { payloadKey, payloadKeyPrevious: _, findKey, country, ...queue } = queueVariables;

const redisSchema = z
  .strictObject(
    {
      ...connection,
      connectTimeoutMs: duration(100, 60_000).default(2_000),
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
    if (redis.tlsCa !== undefined && !redis.url.startsWith('rediss:')) {
      refuse('url', 'expected rediss://, because tlsCa is set');
    }
    if (plainRemoteHosts(redis, redis.insecureHosts).length > 0) {
      refuse(
        'url',
        'expected rediss:// (TLS), a host of this machine, or its host in insecureHosts',
      );
    }
  });

const optionsSchema = z.strictObject(
  {
    redis: redisSchema.prefault({}),
    ...queue,
    enqueueTimeoutMs: duration(50, 30_000).default(2_000),
    prefix,
    account: generalVariables.account,
    payloadKey: payloadKey.unwrap().optional(),
    findKey: findKey.unwrap().optional(),
    country: country.unwrap().optional(),
  },
  'expected an options object',
);

/** Valid options with default values. */
export type QueueSettings = z.output<typeof optionsSchema>;

/**
 * Checks the options, and that Node.js checks certificates.
 *
 * @throws InputError CONFIG_INVALID that names every invalid or unknown option
 */
export function readQueueOptions(
  options: unknown,
  environment: Environment = processEnvironment(),
): QueueSettings {
  const unsafe = environmentIssues(environment);
  if (unsafe.length > 0) throw new InputError('CONFIG_INVALID', unsafe);
  return parseInput(optionsSchema, options, 'CONFIG_INVALID', '', 'options');
}

/** The options of a queue that a configuration contains. */
export function optionsOf({
  redis,
  account,
  queue,
}: Pick<Config, 'redis' | 'account' | 'queue'>): NoticeQueueOptions {
  const { prefix, ...connection } = redis;
  // A producer encrypts and never decrypts, so it does not take the previous key.
  const { payloadKeyPrevious: _, ...settings } = queue;
  return { redis: connection, prefix, account, ...settings };
}

/** The variables of a queue. */
const NAMES: ReadonlySet<string> = new Set(
  [generalVariables.account, ...Object.values(redisVariables), ...Object.values(queueVariables)]
    .filter((row) => row !== queueVariables.payloadKeyPrevious)
    .map((row) => row.variable),
);

/**
 * The options of a queue that the environment of this process contains, with those of the program in front of them, each
 * as a whole. One that is undefined is none: it would not give the default, but for example leave notices unencrypted.
 * Other variables are not read: an application has its own, and one of them may have the name of a variable of workers.
 *
 * @throws InputError CONFIG_INVALID that names every invalid variable
 */
export function withEnvironment<Options extends NoticeQueueOptions>(options: Options): Options {
  const own = Object.entries(processEnvironment()).filter(
    ([name]) => NAMES.has(name) || NAMES.has(name.replace(/_FILE$/, '')),
  );
  const found = optionsOf(loadConfig(Object.fromEntries(own), { service: false }));
  const given = Object.entries({ ...options }).filter(([, value]) => value !== undefined);
  return { ...found, ...(Object.fromEntries(given) as Options) };
}
