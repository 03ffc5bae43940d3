import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import type { EmulatorOptions } from '../../../src/emulator/options.ts';
import { lanesOf } from '../../../workers/queue/send-worker.ts';
import { startWorker } from '../../../workers/process/start-worker.ts';
import { emulatorWith, serviceEnv } from '../../emulator/running.ts';
import { environmentAs } from '../../support/redis-users.ts';
import type { AtEnd } from '../../support/temporary.ts';

/** One worker in the process of the test, and the service that it sends to. */
export type WorkerInProcess = Awaited<ReturnType<typeof startWorkerInProcess>>;

/**
 * Starts an emulator and a worker, which end with the test.
 *
 * @param env on top of what reaches them
 * @param atEnd of a test that runs beside others: its own `onTestFinished`
 */
export async function startWorkerInProcess(
  redisUrl: string,
  prefix: string,
  env: Readonly<Record<string, string>> = {},
  emulated: EmulatorOptions = {},
  atEnd: AtEnd = onTestFinished,
) {
  const emulator = await emulatorWith(emulated, atEnd);
  const { service, ...config } = loadConfig(
    environmentAs('worker', {
      REDIS_URL: redisUrl,
      REDIS_PREFIX: prefix,
      ...serviceEnv(emulator.url),
      ...env,
    }),
  );
  if (service === undefined) throw new Error('the configuration has no service');

  const lanes = lanesOf(config.worker);
  const lines: Record<string, unknown>[] = [];
  const log = { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) };
  const worker = await startWorker({
    config: { ...config, service },
    logger: pino({ level: 'debug' }, log),
    abandoned: new AbortController().signal,
  });
  const stop = async () => {
    await worker?.stop();
  };
  atEnd(stop);
  return {
    emulator,
    /** Its log so far. */
    lines: lines as readonly Readonly<Record<string, unknown>>[],
    /** Jobs that it runs at the same time, in both lanes. */
    placesForJobs: lanes.notices.concurrency + lanes.chunks.concurrency,
    stop,
  };
}
