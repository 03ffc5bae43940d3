import { Queue } from 'bullmq';
import type { RedisClient } from './connect.ts';
import type { CHUNK_QUEUE_NAME, Keys, QUEUE_NAME } from './keys.ts';

/**
 * Opens a BullMQ queue on an existing connection, to add, read or change jobs. It does not wait for
 * Redis: the first command fails while Redis is away, and works again once Redis is back.
 *
 * @returns the queue; close it before the connection. The connection stays the caller's.
 */
export function openBullQueue(
  name: typeof QUEUE_NAME | typeof CHUNK_QUEUE_NAME,
  connection: RedisClient,
  { bullPrefix }: Keys,
): Queue {
  const queue = new Queue(name, {
    connection,
    prefix: bullPrefix,
    // Without these two, a queue that is opened while Redis is away never recovers.
    skipWaitingForReady: true,
    skipVersionCheck: true,
    // The worker writes the queue's settings.
    skipMetasUpdate: true,
  });
  // Errors reach the caller through the command that fails; without a listener they end the process.
  queue.on('error', () => {});
  return queue;
}
