import type { Logger } from 'pino';
import {
  connectRedis,
  readyWithin,
  type RedisClient,
  type RedisSettings,
} from '../src/redis/connect.ts';
import { redisErrorWord } from '../src/redis/failure.ts';

/** A worker waits this long for Redis at its start before it says so in the log. */
const PATIENCE_MS = 5_000;

/** The connections of one worker. */
export interface RedisLink {
  readonly redis: RedisClient;
  /** For hints alone: a connection that subscribes takes no other commands. */
  readonly subscriber: RedisClient;
  /** What is to be told of errors of Redis, and of BullMQ about Redis. */
  readonly quiet: (error: Error) => void;
  readonly disconnect: () => void;
}

/**
 * Connects, and waits for as long as Redis is away.
 *
 * @param onWord told of every error by its word
 * @returns undefined when the start was abandoned first
 */
export async function openRedisLink(
  settings: RedisSettings,
  log: Logger,
  abandoned: AbortSignal,
  onWord: (word: string) => void,
): Promise<RedisLink | undefined> {
  const quiet = quietly(log, onWord);
  const redis = connectRedis(settings, 'worker', quiet);
  const subscriber = connectRedis(settings, 'subscriber', quiet);
  const disconnect = () => {
    redis.disconnect();
    subscriber.disconnect();
  };
  while (!(await readyWithin(redis, PATIENCE_MS, abandoned))) {
    if (abandoned.aborted) {
      disconnect();
      return undefined;
    }
    log.warn({ event: 'waiting-for-redis' }, 'Redis does not answer yet; check REDIS_URL');
  }
  return { redis, subscriber, quiet, disconnect };
}

/** What a step of the start answers; undefined when the worker is told to stop first. */
export async function unlessAborted<Result>(
  step: Promise<Result>,
  abandoned: AbortSignal,
): Promise<Result | undefined> {
  const told = new Promise<undefined>((resolve) => {
    if (abandoned.aborted) resolve(undefined);
    abandoned.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  return Promise.race([step, told]);
}

/**
 * Redis that is away reports itself many times a second; the log hears it once a second, `onWord`
 * each time.
 */
function quietly(log: Logger, onWord: (word: string) => void): (error: Error) => void {
  let lastAt = -Infinity;
  let lastCode = '';
  return (error) => {
    const code = redisErrorWord(error);
    const now = performance.now();
    onWord(code);
    if (code === lastCode && now - lastAt < 1_000) return;
    lastAt = now;
    lastCode = code;
    log.warn({ event: 'redis-trouble', code });
  };
}
