import { Redis } from 'ioredis';
import type { RedisClient } from './connect.ts';

/**
 * Lets the commands that follow, up to the end of this turn, leave in one write instead of one each.
 * For many commands at once from code that is not ours to change, such as the ends of many jobs: they
 * stay commands of their own, with answers of their own, and none waits for anything but the code that
 * runs now. Measured: a tenth less CPU a job; the client's own auto-pipelining holds all answers back
 * until the last one is there, which made it slower.
 *
 * On a cluster it does nothing: a connection to it is many.
 */
export function inOneWrite(redis: RedisClient): void {
  if (!(redis instanceof Redis)) return;
  // Undefined before the first connection.
  const stream = redis.stream as Redis['stream'] | undefined;
  if (stream === undefined || stream.destroyed) return;
  stream.cork();
  // Runs when all promises that are settled now have been followed up.
  process.nextTick(() => stream.uncork());
}
