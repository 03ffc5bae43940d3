import { pino } from 'pino';
import { loadConfig } from '../../../src/config/config.ts';
import { startEmulator, type Emulator } from '../../../src/emulator/emulator.ts';
import type { EmulatorOptions } from '../../../src/emulator/options.ts';
import { lanesOf } from '../../../workers/queue/send-worker.ts';
import { startWorker } from '../../../workers/process/start-worker.ts';
import { environmentAs } from '../../support/redis-users.ts';

/** One worker in the process of the test, and the service that it sends to. */
export interface WorkerInProcess {
  readonly emulator: Emulator;
  /** Its log so far. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  /** Jobs that it runs at the same time, in both lanes. */
  readonly placesForJobs: number;
  stop(): Promise<void>;
}

/** Starts an emulator and a worker. @param env on top of what reaches the Redis and the emulator */
export async function startWorkerInProcess(
  redisUrl: string,
  prefix: string,
  env: Readonly<Record<string, string>> = {},
  emulated: EmulatorOptions = {},
): Promise<WorkerInProcess> {
  const emulator = await startEmulator(emulated);
  const { service, ...config } = loadConfig(
    environmentAs('worker', {
      REDIS_URL: redisUrl,
      REDIS_PREFIX: prefix,
      BASE_URL: emulator.url,
      ACCESS_KEY: 'emulator-access-key',
      SECRET_KEY: 'emulator-secret-key',
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
  return {
    emulator,
    lines,
    placesForJobs: lanes.notices.concurrency + lanes.chunks.concurrency,
    stop: async () => {
      await worker?.stop();
      await emulator.close();
    },
  };
}
