import { Redis } from 'ioredis';
import type { RedisClient } from './connect.ts';

/** Connections whose commands are being collected. */
const corked = new WeakSet<object>();

/**
 * Sends all commands of the current turn of the event loop in one write instead of one write each. The
 * commands stay separate, with separate answers. Measured: a fifth less CPU for a send of one contact,
 * because every write wakes Redis. The client's auto-pipelining is slower: it withholds all answers until
 * the last one has arrived.
 *
 * Does nothing on a Cluster, which has one connection per node.
 */
export function inOneWrite(redis: RedisClient): void {
  if (!(redis instanceof Redis)) return;
  // Undefined before the first connection.
  const stream = redis.stream as Redis['stream'] | undefined;
  if (stream === undefined || stream.destroyed || corked.has(stream)) return;
  corked.add(stream);
  stream.cork();
  // Runs after the callbacks of everything that arrived in this turn.
  setImmediate(() => {
    corked.delete(stream);
    stream.uncork();
  });
}
