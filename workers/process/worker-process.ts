import { loadConfig, type Config } from '../../src/config/config.ts';
import { createLogger, writeLastLines } from '../../src/logging/logger.ts';
import { answerSupervisor } from '../health/health-channel.ts';
import { startHealthServer, type HealthServer } from '../health/health-server.ts';
import { ProcessHealth } from '../health/process-health.ts';
import { startWorker } from './start-worker.ts';
import { stopOnSignals } from './stop-signals.ts';

/**
 * Runs one worker process until it is stopped.
 * @param config default: the environment
 * @param index number of this process among those of its supervisor, which then answers for it on the
 *   health port; undefined without a supervisor
 * @returns the exit code; 1 also after a stall, so that a supervisor restarts it
 * @throws InputError CONFIG_INVALID, NoticeQueueError REDIS_UNSUITABLE
 */
export async function runWorkerProcess(
  config: Config = loadConfig(undefined, { unused: ['ops'] }),
  index?: number,
): Promise<number> {
  const logger = createLogger(config);
  const at = config.worker.health;
  const health = at.port === 0 ? undefined : new ProcessHealth(index ?? 0);
  let server: HealthServer | undefined;
  if (health !== undefined) {
    if (index === undefined) server = await startHealthServer(at, health);
    else answerSupervisor(health);
  }
  const abandoned = new AbortController();
  let stalled = false;
  const onStall = () => {
    // A second signal would end the process at once.
    if (stalled) return;
    stalled = true;
    // A stop is limited in time, whatever is blocked.
    process.kill(process.pid, 'SIGTERM');
  };
  const { signal } = abandoned;
  const starting = startWorker({ config, logger, abandoned: signal, onStall, health });
  const ended = stopOnSignals(
    async () => {
      abandoned.abort();
      const worker = await starting;
      await worker?.stop();
    },
    config.worker.shutdownTimeoutMs,
    logger,
    index !== undefined,
  );
  await starting;
  const code = await ended;
  server?.close();
  await writeLastLines(logger);
  return stalled ? 1 : code;
}
