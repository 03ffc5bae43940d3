import { onlySet } from './only-set.ts';
import type { Address } from './option.ts';
import type { OptionValue, Values } from './options.ts';

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

/** What is asked of Redis, and how often. */
export interface RedisWatchConfig {
  readonly persistence: OptionValue<'REDIS_PERSISTENCE'>;
  /** In percent. */
  readonly memoryHeadroom: number;
  readonly everyMs: number;
}

/** How workers meet a Redis that may hold an old copy of the queue. */
export interface RestoreConfig {
  readonly guard: OptionValue<'RESTORE_GUARD'>;
  readonly toleranceMs: number;
  readonly gapMs: number;
  /** Path. */
  readonly stateFile?: string;
}

/** Reads it from the checked variables. */
export function redisConfig(values: Values): RedisConfig {
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

/** Reads it from the checked variables. */
export function redisWatchConfig(values: Values): RedisWatchConfig {
  return {
    persistence: values.REDIS_PERSISTENCE,
    memoryHeadroom: values.REDIS_MEMORY_HEADROOM,
    everyMs: values.REDIS_WATCH_MS,
  };
}

/** Reads it from the checked variables. */
export function restoreConfig(values: Values): RestoreConfig {
  return {
    guard: values.RESTORE_GUARD,
    toleranceMs: values.RESTORE_TOLERANCE_MS,
    gapMs: values.RESTORE_GAP_MS,
    ...onlySet({ stateFile: values.STATE_FILE }),
  };
}
