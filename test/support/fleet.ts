import type { SendOptions } from '../../src/contracts/send-options.ts';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import type { DeliveryPolicy } from '../../src/contracts/outcome.ts';
import { startEmulator } from '../../src/emulator/emulator.ts';
import type { EmulatorOptions } from '../../src/emulator/options.ts';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import type { TestRedis } from './redis.ts';
import { asUser, connectionAs } from './redis-users.ts';
import { until } from './wait.ts';
import { serviceEnv } from '../emulator/running.ts';

/** The built program. */
const CLI = new URL('../../dist/src/cli/main.js', import.meta.url).pathname;

/** One line of a worker's log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly event?: string };

/** A worker process under test: really started, really killed. */
export type FleetWorker = ReturnType<typeof startWorkerProcess>;

/** An emulator, a producer and worker processes over one namespace of the test's Redis. */
export type Fleet = Awaited<ReturnType<typeof startFleet>>;

const isAttempt = ({ event, outcome }: LogLine) => event === 'attempt' && outcome !== 'returned';

/** Numbers that nobody has: 0100 and seven digits. */
export function numbers(count: number, from = 0): string[] {
  return Array.from(
    { length: count },
    (_, index) => `0100${String(from + index).padStart(7, '0')}`,
  );
}

/** A fleet to start. */
interface FleetPlan {
  readonly redisUrl: string;
  readonly prefix: string;
  /** Worker processes. */
  readonly processes: number;
  /** On top of what reaches this test's emulator and Redis. */
  readonly env?: Readonly<Record<string, string>>;
  readonly emulator?: EmulatorOptions;
  /** Policy of the producer, which decides it. */
  readonly delivery?: DeliveryPolicy;
}

/** Starts a fleet that ends with the test. Default: one worker, in a namespace of its own */
export async function fleetOn(redis: TestRedis, plan: Partial<FleetPlan> = {}) {
  const fleet = await startFleet({
    redisUrl: redis.url,
    prefix: plan.prefix ?? redis.freshPrefix(),
    processes: 1,
    ...plan,
  });
  onTestFinished(() => fleet.close());
  return fleet;
}

/** Starts a fleet. */
export async function startFleet(options: FleetPlan) {
  const emulator = await startEmulator(options.emulator);
  const env = {
    PATH: process.env['PATH'] ?? '',
    REDIS_URL: options.redisUrl,
    REDIS_PREFIX: options.prefix,
    ...serviceEnv(emulator.url),
    // Lines of what is accepted.
    LOG_LEVEL: 'debug',
    ...options.env,
  };
  const queue = new NoticeQueue({
    redis: connectionAs('application', options.redisUrl),
    prefix: options.prefix,
    delivery: options.delivery,
    enqueueTimeoutMs: 20_000,
  });
  const workers: FleetWorker[] = [];
  const fleet = {
    emulator,
    queue,
    workers: workers as readonly FleetWorker[],
    prefix: options.prefix,
    env: env as Readonly<Record<string, string>>,
    /** The line of every attempt of every worker, without jobs that were returned unsent. */
    attempts: () => workers.flatMap(({ lines }) => lines.filter(isAttempt)),
    /** Starts another worker process and waits until it runs. */
    addWorker: async (extra: Readonly<Record<string, string>> = {}) => {
      const worker = startWorkerProcess({ ...env, ...extra });
      workers.push(worker);
      await until(() => worker.lines.some(({ event }) => event === 'started'), {
        what: 'the worker to start',
        deadlineMs: 60_000,
      });
      return worker;
    },
    /** Hands over one notice for each number. */
    sendEach: async (list: readonly string[], sendOptions?: SendOptions) => {
      await queue.sendMany(
        list.map((contact) => ({ templateCode: 'FLEET', contacts: [{ contact, var1: 'x' }] })),
        sendOptions,
      );
    },
    close: async () => {
      for (const worker of workers) {
        worker.kill('SIGCONT');
        worker.kill('SIGTERM');
      }
      await Promise.all(workers.map(({ ended }) => ended));
      await queue.close();
      await emulator.close();
    },
  };
  try {
    await Promise.all(Array.from({ length: options.processes }, () => fleet.addWorker()));
  } catch (error) {
    await fleet.close();
    throw error;
  }
  return fleet;
}

function startWorkerProcess(env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [CLI, 'worker'], {
    env: asUser(['worker'], env),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: LogLine[] = [];
  let told = false;
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(JSON.parse(line) as LogLine);
  });
  return {
    pid: child.pid ?? 0,
    lines: lines as readonly LogLine[],
    /** It was told to end, or has ended. */
    get gone() {
      return told || child.exitCode !== null || child.signalCode !== null;
    },
    kill: (signal: NodeJS.Signals) => {
      told ||= signal === 'SIGKILL' || signal === 'SIGTERM' || signal === 'SIGINT';
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    },
    /** Exit code, or the name of the signal that ended it. */
    ended: endOf(child),
  };
}

async function endOf(child: ChildProcess): Promise<number | string> {
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return code ?? signal ?? 'unknown';
}
