import type { RedisClient } from '../src/redis/connect.ts';
import type { Readiness, Unready } from './health-server.ts';

/** Ready while the connection to Redis stands and nobody has asked the worker to stop. */
export function connectionReadiness(redis: RedisClient, stopping: AbortSignal): Readiness {
  let lost: Unready | undefined;
  let stops: Unready | undefined;
  redis.on('close', () => {
    lost ??= { reason: 'Redis is away', since: Date.now() };
  });
  redis.on('ready', () => {
    lost = undefined;
  });
  stopping.addEventListener('abort', () => {
    stops ??= { reason: 'it is stopping', since: Date.now() };
  });
  return { reasons: () => [stops, lost].filter((reason) => reason !== undefined) };
}
