import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { spreadOf } from '../harness/spread.ts';
import type { Stage } from '../harness/stage.ts';
import { table } from '../report/tables.ts';
import { fillOurs, openQueue, startOurs } from './queues.ts';

/** From `dist/bench/legs`. */
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** Sends of a loaded worker, and how long an idle one had nothing to do. */
const LOAD = 20_000;
const IDLE_MS = 5_000;

const evaluate = (code: string) => ['--input-type=module', '--eval', code];

/** Programs by name, as arguments of Node. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  'bare node': evaluate(''),
  "`import 'bullmq'`": evaluate("await import('bullmq');"),
  "`import 'notice-queue'`": evaluate("await import('notice-queue');"),
  '`notices send --help`': ['dist/src/cli/main.js', 'send', '--help'],
};

/** Milliseconds of programs from their start to their end, and the memory of a worker. */
export async function startup(stage: Stage, rounds: number): Promise<string> {
  const figures = new Map<string, number[]>();
  const note = (name: string, figure: number) => {
    figures.set(name, [...(figures.get(name) ?? []), figure]);
  };
  for (let round = 0; round < rounds; round++) {
    for (const [name, args] of Object.entries(PROGRAMS)) note(`${name}, ms`, await runToEnd(args));
    const { idle, loaded } = await workerMemory(stage);
    note('an idle worker, MB', idle);
    note('a worker after 20,000 single sends, MB', loaded);
  }
  const rows = [...figures].map(([name, found]) => {
    const { median, min, max } = spreadOf(found);
    return [name, median.toFixed(0), `${min.toFixed(0)} to ${max.toFixed(0)}`];
  });
  return table(['program', 'median', 'spread'], rows);
}

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

/** Resident memory of a worker: after its first send and some idle seconds, and right after a load. */
async function workerMemory(stage: Stage): Promise<{ idle: number; loaded: number }> {
  await stage.clear();
  await fillOurs(1, openQueue(stage));
  stage.service.send({ reach: 1 });
  const worker = startOurs(stage);
  try {
    await stage.service.next('reached');
    await setTimeout(IDLE_MS);
    const idle = await worker.usage();
    stage.service.send({ reach: 1 + LOAD });
    await fillOurs(LOAD, openQueue(stage));
    await stage.service.next('reached', 300_000);
    const loaded = await worker.usage();
    return { idle: idle.rssMb, loaded: loaded.rssMb };
  } finally {
    await worker.stop();
  }
}
