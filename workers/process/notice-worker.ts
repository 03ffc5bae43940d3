import { loadConfig, type Config } from '../../src/config/config.ts';
import { processEnvironment, type Environment } from '../../src/config/environment.ts';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { readQueueOptions, type NoticeQueueOptions } from '../../src/producer/options.ts';
import type { WorkerProgram } from '../maintenance/worker-basis.ts';
import type { Logger } from 'pino';

/** A worker in the caller's process. */
export interface NoticeWorker {
  /** Its id, as in `notices status --json`. */
  readonly id: string;
  /** Why it takes no jobs; empty where it is ready. */
  notReady(): readonly string[];
  /** Takes no further jobs, and resolves when what is being sent has ended. May be called twice. */
  stop(): Promise<void>;
  /** Stops at the end of a block: `await using worker = await startNoticeWorker()`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Options of {@link startNoticeWorker}. */
export interface NoticeWorkerOptions {
  /** The variables of docs/configuration.md. Default: the environment of this process */
  readonly env?: Environment | undefined;
  /** How to connect to Redis, in place of the variables `REDIS_...`. REDIS_PREFIX counts all the same. */
  readonly redis?: NoticeQueueOptions['redis'];
  /** The caller's pino. Its own level and redaction apply. Default: JSON lines on standard output */
  readonly logger?: Logger | undefined;
  /** Aborted to give the start up while Redis is away. Default: it waits */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Starts a worker in this process, as `notices worker` does in one of its own. It handles no signals and
 * never ends the process: call `stop` when yours is asked to stop. Waits while Redis is away.
 *
 * A process of its own is the better choice for most: what else runs here takes time from the sends, and the health port
 * belongs to the command.
 *
 * @example
 * import { startNoticeWorker } from 'notice-queue/worker';
 * const worker = await startNoticeWorker({ logger });
 * process.once('SIGTERM', () => void worker.stop());
 * @throws InputError CONFIG_INVALID that names every invalid variable or option
 * @throws NoticeQueueError CONFIG_INVALID without credentials; REDIS_UNSUITABLE; QUEUE_UNAVAILABLE where
 *   the start was given up
 * @throws Error that says what to install where a package that only workers need is not
 */
export async function startNoticeWorker({
  env = processEnvironment(),
  redis,
  logger,
  signal = new AbortController().signal,
}: NoticeWorkerOptions = {}): Promise<NoticeWorker> {
  const [{ startWorker }, { createLogger }] = await loadParts();
  const read = loadConfig(env, { unused: ['ops'] });
  const config: WorkerProgram = redis === undefined ? read : withRedis(read, redis);
  const log = logger ?? createLogger(config);
  const worker = await startWorker({ config, logger: log, abandoned: signal });
  if (worker === undefined) {
    throw new NoticeQueueError('QUEUE_UNAVAILABLE', 'The start of the worker was given up.');
  }
  const stop = () => worker.stop();
  return {
    id: worker.id,
    notReady: () => worker.readiness.reasons().map(({ reason }) => reason),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Loaded by the first call: an application that only sends may leave out the packages, and load what its tests need. */
async function loadParts() {
  try {
    return await Promise.all([import('./start-worker.ts'), import('../../src/logging/logger.ts')]);
  } catch (error) {
    const name = /^Cannot find (?:package|module) '(@?\w[^':\\]*)'/.exec(
      (error as Error).message,
    )?.[1];
    if (name === undefined) throw error;
    const detail = `A worker needs packages that are not installed (${name}): npm install --include=optional`;
    throw new Error(detail, { cause: error });
  }
}

function withRedis(config: Config, redis: NoticeQueueOptions['redis']): WorkerProgram {
  const settings = readQueueOptions({ redis }).redis;
  return { ...config, redis: { ...settings, prefix: config.redis.prefix } };
}
