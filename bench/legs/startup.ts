import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { spreadOf } from '../harness/spread.ts';
import type { Stage } from '../harness/stage.ts';
import { fillOurs, startOurs } from './single-sends.ts';

/** How long programs take from their start to their end, and what a worker holds; each list by round. */
export interface Startup {
  readonly ms: Readonly<Record<string, readonly number[]>>;
  readonly workerMb: { readonly idle: readonly number[]; readonly loaded: readonly number[] };
}

/** From `dist/bench/legs`. */
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Runs of each program in one round, of which the median counts. */
const RUNS = 5;

const evaluate = (code: string) => ['--input-type=module', '--eval', code];
const notices = (...args: readonly string[]) => ['dist/src/cli/main.js', ...args];

/** What is compared. */
export const BARE = 'bare node';
export const PACKAGES = {
  bullmq: "`import 'bullmq'`",
  ours: "`import 'notice-queue'`",
} as const;

/** Commands that need neither Redis nor the service. */
const LIGHT: Readonly<Record<string, readonly string[]>> = {
  '`notices --version`': ['--version'],
  '`notices --help`': ['--help'],
  '`notices send --help`': ['send', '--help'],
  'a mistyped command': ['vesrion'],
  'a mistyped flag': ['send', '--contcat', '01012345678'],
};

/** Names of {@link LIGHT} in the results. */
export const LIGHT_COMMANDS: readonly string[] = Object.keys(LIGHT);

/** Programs by name, as arguments of Node. The last two show what an import only puts off. */
const programs = (redisUrl: string): Readonly<Record<string, readonly string[]>> => ({
  [BARE]: evaluate(''),
  [PACKAGES.bullmq]: evaluate("await import('bullmq');"),
  [PACKAGES.ours]: evaluate("await import('notice-queue');"),
  ...Object.fromEntries(Object.entries(LIGHT).map(([name, args]) => [name, notices(...args)])),
  'BullMQ with ioredis: import, one job, end': evaluate(`
    const [{ Queue }, { Redis }] = await Promise.all([import('bullmq'), import('ioredis')]);
    const connection = new Redis('${redisUrl}', { maxRetriesPerRequest: null });
    const queue = new Queue('startup', { connection });
    await queue.add('send', { contact: '01012345678' });
    await queue.close();
    connection.disconnect();`),
  'notice-queue: import, one notice, end': evaluate(`
    const { NoticeQueue } = await import('notice-queue');
    const queue = new NoticeQueue({ redis: { url: '${redisUrl}' }, prefix: 'startup' });
    await queue.send({ templateCode: 'T', contacts: [{ contact: '01012345678' }] });
    await queue.close();`),
});

/** Runs every program in turn, and looks at a worker. */
export async function startup(stage: Stage, rounds: number): Promise<Startup> {
  const all = Object.entries(programs(stage.redisUrl));
  const ms = new Map(all.map(([name]) => [name, [] as number[]]));
  const workerMb = { idle: [] as number[], loaded: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    const runs = new Map(all.map(([name]) => [name, [] as number[]]));
    for (let run = 0; run < RUNS; run++) {
      for (const [name, args] of all) runs.get(name)?.push(await runToEnd(args));
    }
    for (const [name, took] of runs) ms.get(name)?.push(Number(spreadOf(took).median.toFixed(1)));
    const { idle, loaded } = await workerMemory(stage);
    workerMb.idle.push(idle);
    workerMb.loaded.push(loaded);
  }
  return { ms: Object.fromEntries(ms), workerMb };
}

/** Milliseconds from the start of a program to its end. */
async function runToEnd(args: readonly string[]): Promise<number> {
  const from = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] ?? '' },
    stdio: 'ignore',
  });
  await once(child, 'exit');
  return performance.now() - from;
}

/** Sends of a loaded worker, and how long an idle one had nothing to do. */
const LOAD = 20_000;
const IDLE_MS = 5_000;

/** Resident memory of a worker: after its first send and some idle seconds, and right after a load. */
async function workerMemory(stage: Stage): Promise<{ idle: number; loaded: number }> {
  const prefix = 'bench';
  await stage.clear();
  await fillOurs(stage, prefix, 1);
  stage.service.send({ reach: 1 });
  const worker = startOurs(stage, prefix);
  try {
    await stage.service.next('reached');
    await setTimeout(IDLE_MS);
    const idle = await worker.usage();
    stage.service.send({ reach: 1 + LOAD });
    await fillOurs(stage, prefix, LOAD);
    await stage.service.next('reached', 300_000);
    const loaded = await worker.usage();
    return { idle: Math.round(idle.rssMb), loaded: Math.round(loaded.rssMb) };
  } finally {
    await worker.stop();
  }
}
