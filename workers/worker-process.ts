import { loadConfig, type Config } from '../src/config/config.ts';
import { NoticeQueueError } from '../src/errors.ts';
import { createLogger } from '../src/logger.ts';
import { startWorker } from './run-worker.ts';
import { stopOnSignals } from './stop-signals.ts';

/**
 * One worker process from its start to its end.
 *
 * @param config the environment's when left out
 * @returns the exit code; 1 also after a stall, so that a supervisor starts it anew
 * @throws InputError CONFIG_INVALID, NoticeQueueError REDIS_UNSUITABLE
 */
export async function runWorkerProcess(config: Config = loadConfig()): Promise<number> {
  const { service } = config;
  if (service === undefined) {
    throw new NoticeQueueError(
      'CONFIG_INVALID',
      'A worker needs BASE_URL, ACCESS_KEY and SECRET_KEY.',
    );
  }
  const logger = createLogger(config.logLevel);
  const abandoned = new AbortController();
  let stalled = false;
  const starting = startWorker({ ...config, service }, logger, abandoned.signal, () => {
    stalled = true;
    // The way out of a stop is bounded in time, whatever it is that stands still.
    process.kill(process.pid, 'SIGTERM');
  });
  const ended = stopOnSignals(
    async () => {
      abandoned.abort();
      const worker = await starting;
      await worker?.stop();
    },
    config.worker.shutdownTimeoutMs,
    logger,
  );
  await starting;
  const code = await ended;
  await new Promise<void>((resolve) => {
    logger.flush(() => resolve());
  });
  return stalled ? 1 : code;
}
