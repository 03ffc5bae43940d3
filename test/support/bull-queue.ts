import { onTestFinished } from 'vitest';
import { openBullQueue } from '../../src/redis/open-queue.ts';

/** A queue of BullMQ as this program opens it, which closes with the test. */
export function bullQueue(...opened: Parameters<typeof openBullQueue>) {
  const queue = openBullQueue(...opened);
  onTestFinished(() => queue.close());
  return queue;
}
