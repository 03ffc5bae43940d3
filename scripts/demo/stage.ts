import { join } from 'node:path';
import { provideRedis } from '../redis/provide-redis.ts';
import { SPOILED } from './faults.ts';
import { startNotices } from './processes.ts';

/** How the demo is run. */
export interface DemoMode {
  /** Slow enough to watch, with the ops server, and left running at the end. */
  readonly keep: boolean;
  /** Injects faults while sending. */
  readonly faults: boolean;
}

/** Everything that has to be stopped, in reverse order of its start. */
export type Closers = (() => Promise<unknown>)[];

/** The programs of the demo. */
export interface Stage {
  /** The environment of its workers, and for commands of the user. */
  readonly env: Readonly<Record<string, string>>;
  readonly emulatorUrl: string;
  /** Address of the ops server and how to sign in; undefined without one. */
  readonly opsUrl: string | undefined;
}

const WORKERS = 2;

/** With one chunk at a time for each worker, the sample's thousand sends take about two minutes. */
const WATCHABLE_LATENCY_MS = 200;

/** Short enough for holds to start and end while the user watches. */
const WATCHABLE_ENV = {
  BATCH_CONCURRENCY: '1',
};

/** Starts the emulator, the workers and, with `--keep`, the ops server. */
export async function setUp(
  { keep, faults }: DemoMode,
  folder: string,
  closers: Closers,
  say: (text: string) => void,
): Promise<Stage> {
  const redis = await provideRedis();
  closers.push(() => redis.close());
  say(`redis     ${new URL(redis.url).host} (${redis.how})`);

  const emulator = await startNotices(
    [
      'emulator',
      '--port',
      '0',
      ...(keep ? ['--latency-ms', String(WATCHABLE_LATENCY_MS)] : []),
      ...(faults ? SPOILED.flatMap((contact) => ['--reject-contact', contact]) : []),
    ],
    {},
    join(folder, 'emulator.log'),
    (line) => line.startsWith('emulator at '),
  );
  closers.push(() => emulator.process.stop());
  const emulatorUrl = /http:\/\/[^, ]+/.exec(emulator.line)?.[0] ?? '';
  say(`emulator  ${new URL(emulatorUrl).host}`);

  const env = {
    REDIS_URL: redis.url,
    REDIS_PREFIX: `notices-demo-${process.pid}`,
    BASE_URL: emulatorUrl,
    ACCESS_KEY: 'emulator-access-key',
    SECRET_KEY: 'emulator-secret-key',
    ...(keep ? WATCHABLE_ENV : {}),
  };
  const pids: number[] = [];
  for (let index = 1; index <= WORKERS; index++) {
    const log = join(folder, `worker-${index}.log`);
    const started = await startNotices(['worker'], env, log, (line) =>
      line.includes('"event":"started"'),
    );
    pids.push(started.process.pid);
    closers.push(() => started.process.stop());
  }
  say(`workers   pids ${pids.join(' and ')}, logs in ${folder}`);
  const opsUrl = keep ? await startOps(env, folder, closers) : undefined;
  return { env, emulatorUrl, opsUrl };
}

async function startOps(
  env: Readonly<Record<string, string>>,
  folder: string,
  closers: Closers,
): Promise<string> {
  // Only the user of this terminal, regardless of the environment.
  const users = { OPS_USERS: '', OPS_USER_HEADER: '', OPS_ROLE_HEADER: '' };
  const ops = await startNotices(
    ['ops', '--host', '127.0.0.1', '--port', '0'],
    { ...env, ...users },
    join(folder, 'ops.log'),
    (line) => line.includes('with the password'),
  );
  closers.push(() => ops.process.stop());
  return /http:\/\/\S+ as .*/.exec(ops.line)?.[0] ?? '';
}
