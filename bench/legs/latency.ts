import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import type { Notice } from '../../src/contracts/notice.ts';
import { nowMs } from '../harness/clock.ts';
import type { MeasuredProcess } from '../harness/measured-process.ts';
import { quantile, spreadOf } from '../harness/spread.ts';
import type { Stage } from '../harness/stage.ts';
import { table } from '../report/tables.ts';
import { noticeTo, contactAt } from '../work.ts';
import { AXIOS, openQueue, startBullmq, startOurs } from './queues.ts';

/** Hands over one notice at a time. */
interface Path {
  readonly send: (notice: Notice) => Promise<unknown>;
  readonly close: () => Promise<unknown>;
  readonly worker: MeasuredProcess;
}

const COUNT = 200;
/** Sent before the first that counts: connections, a token, warm code. */
const WARM_UP = 50;
/** Both sides have come to rest by then. */
const REST_MS = 10;

function ours(stage: Stage): Path {
  const queue = openQueue(stage);
  return {
    send: (notice) => queue.send(notice),
    close: () => queue.close(),
    worker: startOurs(stage),
  };
}

function bullmq(stage: Stage): Path {
  const connection = new Redis(stage.redisUrl);
  const queue = new Queue('bare', { connection });
  return {
    send: (notice) => queue.add('send', notice, { attempts: 3 }),
    close: () => queue.close().then(() => connection.disconnect()),
    worker: startBullmq(stage, 'axios'),
  };
}

/** One notice after the other in an idle system, from the producer's call to the request. */
export async function latency(stage: Stage, rounds: number): Promise<string> {
  const paths = [[AXIOS, bullmq] as const, ['notice-queue', ours] as const];
  const found = paths.map(([name]) => ({ name, p50: [] as number[], p99: [] as number[] }));
  for (let round = 0; round < rounds; round++) {
    for (const [index, [, open]] of paths.entries()) {
      await stage.clear();
      const all = await latencies(stage, open(stage));
      found[index]?.p50.push(quantile(all, 0.5));
      found[index]?.p99.push(quantile(all, 0.99));
    }
  }
  const median = (figures: readonly number[]) => spreadOf(figures).median.toFixed(2);
  return table(
    ['path', 'median ms', '99th percentile ms'],
    found.map(({ name, p50, p99 }) => [name, median(p50), median(p99)]),
  );
}

async function latencies(stage: Stage, path: Path): Promise<number[]> {
  try {
    const all: number[] = [];
    for (let index = 0; index < COUNT + WARM_UP; index++) {
      stage.service.send({ reach: index + 1 });
      const calledAt = nowMs();
      await path.send(noticeTo([contactAt(index)]));
      await stage.service.next('reached');
      stage.service.send({ arrivals: true });
      const { arrivals } = await stage.service.next<{ arrivals: readonly number[] }>('arrivals');
      // The first comes with the issuance of the token before it.
      if (index >= WARM_UP) all.push((arrivals.at(-1) ?? Number.NaN) - calledAt);
      await new Promise((resolve) => setTimeout(resolve, REST_MS));
    }
    return all;
  } finally {
    await path.close();
    await path.worker.stop();
  }
}
