import type { Config } from '../../src/config/config.ts';
import { createLogger, writeLastLines } from '../../src/logging/logger.ts';
import { startHealthServer } from '../health/health-server.ts';
import { ProcessHealth } from '../health/process-health.ts';
import { startWorker } from './start-worker.ts';
import { stopOnSignals } from './stop-signals.ts';

/**
 * Runs one worker process until it is stopped.
 * @returns the exit code
 * @throws InputError CONFIG_INVALID, NoticeQueueError REDIS_UNSUITABLE
 */
export async function runWorkerProcess(config: Config): Promise<number> {
  const logger = createLogger(config);
  const at = config.worker.health;
  const health = at.port === 0 ? undefined : new ProcessHealth();
  const server = health && (await startHealthServer(at, health));
  const abandoned = new AbortController();
  const { signal } = abandoned;
  const starting = startWorker({ config, logger, abandoned: signal, health });
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
  server?.close();
  await writeLastLines(logger);
  return code;
}
