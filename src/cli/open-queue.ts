import type { Config } from '../config/config.ts';
import type { NoticeQueue } from '../producer/notice-queue.ts';

/**
 * A producer with the configuration of the environment. Loaded when it is needed: it is most of
 * the time that a command takes to start.
 */
export async function openQueue({ redis, account, queue }: Config): Promise<NoticeQueue> {
  const { NoticeQueue } = await import('../producer/notice-queue.ts');
  const { prefix, ...connection } = redis;
  // A producer seals and never opens, so the previous key is nothing to it.
  const { payloadKeyPrevious: _, ...settings } = queue;
  return new NoticeQueue({ redis: connection, prefix, account, ...settings });
}
