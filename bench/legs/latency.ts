import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import { nowMs } from '../harness/clock.ts';
import type { Stage } from '../harness/stage.ts';
import { noticeTo, contactAt } from '../work.ts';
import { NAMES, PAYLOAD_KEY, startOurs } from './single-sends.ts';

/** Who hands over one notice, and how a worker is started for it. */
interface Path {
  readonly name: string;
  readonly open: (stage: Stage) => {
    readonly send: (index: number) => Promise<unknown>;
    readonly close: () => Promise<void>;
  };
}

/** Sent before the first that counts: connections, a token, warm code. */
const WARM_UP = 50;
/** Both sides have come to rest by then. */
const REST_MS = 10;

const ours: Path = {
  name: NAMES.chunks,
  open: (stage) => {
    const queue = new NoticeQueue({
      redis: { url: stage.redisUrl },
      prefix: 'bench',
      payloadKey: PAYLOAD_KEY,
    });
    const worker = startOurs(stage, 'bench');
    return {
      send: (index) => queue.send(noticeTo([contactAt(index)])),
      close: async () => {
        await queue.close();
        await worker.stop();
      },
    };
  },
};

const bullmq: Path = {
  name: NAMES.axios,
  open: (stage) => {
    const connection = new Redis(stage.redisUrl);
    const queue = new Queue('bare', { connection });
    const args = [stage.redisUrl, stage.serviceUrl];
    const worker = stage.start('bench/programs/bullmq-axios.js', args);
    return {
      send: (index) => queue.add('send', noticeTo([contactAt(index)]), { attempts: 3 }),
      close: async () => {
        await queue.close();
        connection.disconnect();
        await worker.stop();
      },
    };
  },
};

export const PATHS: readonly Path[] = [bullmq, ours];

/**
 * Milliseconds from the producer's call to the arrival of the request at the service, one notice
 * after the other in an idle system.
 */
export async function latencies(stage: Stage, { open }: Path, count: number): Promise<number[]> {
  const path = open(stage);
  try {
    const all: number[] = [];
    for (let index = 0; index < count + WARM_UP; index++) {
      stage.service.send({ reach: index + 1 });
      const calledAt = nowMs();
      await path.send(index);
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
  }
}
