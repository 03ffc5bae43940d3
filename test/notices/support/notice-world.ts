import { onTestFinished } from 'vitest';
import type { EmulatorOptions } from '../../../src/emulator/options.ts';
import {
  NoticeQueue,
  type NoticeQueueOptions,
  type NoticeRef,
  type NoticeState,
} from '../../../src/index.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import type { TestRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { until } from '../../support/wait.ts';
import { startWorkerInProcess } from '../../workers/support/worker-in-process.ts';

export const NOTICE = { templateCode: 'ORDER', contacts: [{ contact: '01000000001' }] };

/** A queue, and workers in this process; they end with the test. */
export function noticeWorld(redis: TestRedis, options: NoticeQueueOptions = {}) {
  const { prefix = redis.freshPrefix() } = options;
  const queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), ...options, prefix });
  onTestFinished(() => queue.close());
  return {
    prefix,
    queue,
    keys: keysOf(prefix, 'default'),
    worker: async (env: Readonly<Record<string, string>> = {}, emulated: EmulatorOptions = {}) => {
      const running = await startWorkerInProcess(redis.url, prefix, env, emulated);
      onTestFinished(() => running.stop());
      return running;
    },
    /** Waits until a notice is in this state. @returns what is known of it then */
    reaching: (ref: NoticeRef, state: NoticeState) =>
      until(
        async () => {
          const view = await queue.get(ref);
          return view.state === state ? view : undefined;
        },
        { what: `the state ${state}`, deadlineMs: 20_000 },
      ),
  };
}
