import type { EmulatorOptions } from '../../../src/emulator/options.ts';
import type { NoticeQueueOptions, NoticeRef, NoticeState } from '../../../src/index.ts';
import type { TestRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { startWorkerInProcess } from '../../workers/support/worker-in-process.ts';

export const NOTICE = { templateCode: 'ORDER', contacts: [{ contact: '01000000001' }] };

/** A queue, and workers in this process; they end with the test. */
export function noticeWorld(redis: TestRedis, options: NoticeQueueOptions = {}) {
  const { prefix, keys, queueAs, taker } = redis.account(options.prefix);
  const queue = queueAs('producer', options);
  return {
    prefix,
    queue,
    keys,
    taker,
    worker: (env: Readonly<Record<string, string>> = {}, emulated: EmulatorOptions = {}) =>
      startWorkerInProcess(redis.url, prefix, env, emulated),
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
