import { randomBytes } from 'node:crypto';
import { startNoticeWorker, type NoticeWorker } from '../../workers/process/notice-worker.ts';
import { EMULATOR_DEFAULTS } from '../emulator/options.ts';
import { startEmulator, type Emulator } from '../emulator/emulator.ts';
import type { EmulatorOptions } from '../emulator/options.ts';
import { NoticeQueue } from '../producer/notice-queue.ts';
import { readQueueOptions, type NoticeQueueOptions } from '../producer/options.ts';
import { keysOf } from '../redis/keys.ts';
import { scanKeys, withRedis } from '../redis/with-redis.ts';

export interface TestStackOptions {
  /** Which Redis; it may be one that others use. @default { url: 'redis://127.0.0.1:6379' } */
  readonly redis?: NoticeQueueOptions['redis'];
  /** The rest of the queue's options, such as `payloadKey`. */
  readonly queue?: Omit<NoticeQueueOptions, 'redis' | 'prefix' | 'account'> | undefined;
  /** Further variables of the worker (docs/configuration.md), such as UNKNOWN_RESENDS. */
  readonly worker?: Readonly<Record<string, string>> | undefined;
  readonly emulator?: EmulatorOptions | undefined;
  /** Milliseconds until the start is given up. @default 10000 */
  readonly timeoutMs?: number | undefined;
}

/** A queue, a worker and the messaging service, for one test or one file of tests. */
export interface TestStack {
  readonly notices: NoticeQueue;
  readonly worker: NoticeWorker;
  readonly emulator: Emulator;
  /** The first part of all keys in Redis: pass it to what has a queue of its own, as `prefix` or REDIS_PREFIX. */
  readonly prefix: string;
  /** Stops all three and deletes the keys. May be called twice. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts an emulator of the messaging service, a worker and a queue in this process, with a prefix in Redis of its own,
 * so that tests may run at the same time on one Redis.
 *
 * @example
 * const stack = await startTestStack();
 * const { id } = await stack.notices.send(notice);
 * await waitFor(async () => (await stack.notices.get(id)).state === 'accepted');
 * await stack.stop();
 */
export async function startTestStack({
  redis,
  queue = {},
  worker: variables = {},
  emulator: emulated = {},
  timeoutMs = 10_000,
}: TestStackOptions = {}): Promise<TestStack> {
  const prefix = `test-${randomBytes(6).toString('hex')}`;
  const settings = readQueueOptions({ ...queue, redis, prefix });
  const { accessKey = EMULATOR_DEFAULTS.accessKey, secretKey = EMULATOR_DEFAULTS.secretKey } =
    emulated;
  const ended: (() => Promise<unknown>)[] = [];
  let stopping: Promise<void> | undefined;
  const stop = () =>
    (stopping ??= (async () => {
      for (const end of ended.toReversed()) await end();
    })());
  try {
    const pattern = `${keysOf(prefix, settings.account).bullPrefix}*`;
    ended.push(() =>
      withRedis(settings.redis, timeoutMs, async (client) => {
        for await (const keys of scanKeys(client, pattern)) await client.unlink(...keys);
      }),
    );
    const emulator = await startEmulator({ ...emulated, port: emulated.port ?? 0 });
    ended.push(() => emulator.close());
    const notices = new NoticeQueue({ ...queue, redis, prefix });
    ended.push(() => notices.close());
    const worker = await startNoticeWorker({
      env: {
        LOG_LEVEL: 'silent',
        BASE_URL: emulator.url,
        ACCESS_KEY: accessKey,
        SECRET_KEY: secretKey,
        REDIS_PREFIX: prefix,
        ...(queue.payloadKey === undefined ? {} : { PAYLOAD_KEY: queue.payloadKey }),
        ...variables,
      },
      redis,
      signal: AbortSignal.timeout(timeoutMs),
    });
    ended.push(() => worker.stop());
    return { notices, worker, emulator, prefix, stop, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop().catch(() => {});
    throw error;
  }
}
