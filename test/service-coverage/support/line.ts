import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { loadConfig, type Config, type ServiceConfig } from '../../../src/config/config.ts';
import type { Notice, Receipt } from '../../../src/contracts/notice.ts';
import type { Emulator } from '../../../src/emulator/emulator.ts';
import { EMULATOR_DEFAULTS, type EmulatorOptions } from '../../../src/emulator/options.ts';
import { readHold, readTemplateHolds } from '../../../src/fleet/hold/holds.ts';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { ServiceClient } from '../../../src/service/client.ts';
import { startWorker, type RunningWorker } from '../../../workers/process/start-worker.ts';
import { readRedis } from '../../canary/support/read-redis.ts';
import { emulatorWith } from '../../emulator/running.ts';
import { testRedis, type TestRedis } from '../../support/redis.ts';
import { connectionAs, environmentAs } from '../../support/redis-users.ts';
import { until } from '../../support/wait.ts';
import { wireTo } from './wire.ts';

/** Environment variables by name, as an operator would set them. */
export type Env = Readonly<Record<string, string>>;

/** A line of the worker's log. */
type LogLine = Readonly<Record<string, unknown>>;

/** The key pair of the emulator's first app. */
export const PAIR = {
  accessKey: EMULATOR_DEFAULTS.accessKey,
  secretKey: EMULATOR_DEFAULTS.secretKey,
} as const;

/** What a worker is told in these tests, beyond the defaults: it waits as briefly as it may. */
const BRISK: Env = {
  ACCESS_KEY: PAIR.accessKey,
  SECRET_KEY: PAIR.secretKey,
  CONCURRENCY: '4',
  BACKOFF_BASE_MS: '1',
  BACKOFF_CAP_MS: '50',
  HOLD_PROBE_MIN_MS: '50',
  HOLD_PROBE_MAX_MS: '200',
  TOKEN_GRACE_MS: '0',
};

/** The way of a notice in one process: application, queue, worker; the service is beyond `BASE_URL`. */
export type Line = Awaited<ReturnType<typeof openLine>>;

/** What a test file of this room works with. */
export type Room = ReturnType<typeof room>;

/** Call it once at the top of a test file: it closes after each test what that test opened. */
export function room() {
  const redis = testRedis();
  const line = (baseUrl: string, env: Env = {}) => openLine(redis, { BASE_URL: baseUrl, ...env });
  return {
    redis,
    /** The service client alone, configured from the same variables. */
    client: (baseUrl: string, env: Env = {}) => {
      const client = new ServiceClient(configOf({ BASE_URL: baseUrl, ...env }).service);
      onTestFinished(() => client.close());
      return client;
    },
    /** A queue, an application and one worker that is given `env`. */
    line,
    /** The same with an emulator of its own: reached directly, or over a wire that writes calls down. */
    direct: async (env: Env = {}, options: EmulatorOptions = {}) => {
      const emulator = await emulatorWith(options);
      return { emulator, ...(await line(emulator.url, env)) };
    },
    wired: async (env: Env = {}, options: EmulatorOptions = {}) => {
      const emulator = await emulatorWith(options);
      const wire = await wireTo(emulator);
      return { emulator, wire, ...(await line(wire.url, env)) };
    },
  };
}

/** The configuration of a worker that is told these variables. */
export function configOf(env: Env): Config & { readonly service: ServiceConfig } {
  const { service, ...config } = loadConfig(environmentAs('worker', { ...BRISK, ...env }));
  if (service === undefined) throw new Error('the environment names no service');
  return { ...config, service };
}

/** Numbers accepted so far, each once, in the order of first arrival. */
export function acceptedNumbers(emulator: Emulator): string[] {
  return [...emulator.contacts()].map(({ contact }) => contact);
}

async function openLine(redis: TestRedis, env: Env) {
  const prefix = redis.freshPrefix();
  const base = { ...env, REDIS_URL: redis.url, REDIS_PREFIX: prefix };
  const { chunkSize } = configOf(base).queue;
  const connection = connectionAs('application', redis.url);
  const queue = new NoticeQueue({ redis: connection, prefix, chunkSize });
  onTestFinished(() => queue.close());

  const log: LogLine[] = [];
  const logger = pino(
    { level: 'debug', base: null },
    { write: (line: string) => log.push(JSON.parse(line) as LogLine) },
  );
  const workers: RunningWorker[] = [];
  const stopAll = async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop()));
  };
  onTestFinished(stopAll);

  const addWorker = async (more: Env = {}) => {
    const abandoned = new AbortController().signal;
    const config = configOf({ ...base, ...more });
    const worker = await startWorker({ config, logger, abandoned });
    if (worker !== undefined) workers.push(worker);
  };
  const attempts = (receipt?: Receipt) =>
    log.filter(
      ({ event, job, outcome }) =>
        event === 'attempt' &&
        outcome !== 'returned' &&
        (receipt === undefined || receipt.id === String(job)),
    );
  const deliverWhere = async (
    notice: Notice,
    what: string,
    is: (line: LogLine) => boolean,
  ): Promise<LogLine> => {
    const receipt = await queue.send(notice);
    return until(() => attempts(receipt).find(is), { what });
  };
  await addWorker();
  return {
    prefix,
    queue,
    /** What the workers wrote, in order. */
    log: log as readonly LogLine[],
    /** Lines of every attempt, or of those of one notice. */
    attempts,
    /** Starts another worker beside the others. */
    addWorker,
    /** Queues a notice and waits for the line of its first attempt. */
    deliver: (notice: Notice) => deliverWhere(notice, 'an attempt', () => true),
    /** Queues a notice and waits until one of its attempts has this outcome; answers that line. */
    deliverUntil: (outcome: string, notice: Notice) =>
      deliverWhere(notice, `an attempt that is ${outcome}`, (line) => line['outcome'] === outcome),
    hold: () => readHold(redis.client, keysOf(prefix, 'default')),
    templateHolds: () => readTemplateHolds(redis.client, keysOf(prefix, 'default')),
    /** Starts a worker in place of the one before, with other variables beside the first ones. */
    restart: async (more: Env = {}) => {
      await stopAll();
      await addWorker(more);
    },
    /** Every text that Redis holds of this line. */
    stored: async () => {
      const written = await readRedis(redis.client, 'Redis', `*${prefix}*`);
      return written.map(({ bytes }) => bytes.toString()).join('\n');
    },
  };
}
