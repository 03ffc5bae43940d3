/** Where a Redis came from. */
export type RedisOrigin = 'REDIS_URL' | 'redis-server' | 'valkey-server' | 'container' | 'apt-get';

/** A Redis that answered PING. */
export interface ProvidedRedis {
  /** Holds a password for some origins: do not print it. */
  readonly url: string;
  readonly how: RedisOrigin;
  /** Ends what was started for it; a Redis named by REDIS_URL is left alone. May be called again. */
  close(): Promise<void>;
}

/** What every step is told. */
export interface StepContext {
  readonly persistence: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly say: (line: string) => void;
}

/**
 * One way to a Redis: answers it, or says in one sentence why this way is closed here. It throws
 * only where looking further would be wrong (REDIS_URL names a Redis that does not answer).
 */
export type RedisStep = (context: StepContext) => Promise<ProvidedRedis | string>;
