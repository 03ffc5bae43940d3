import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import { redisUsage } from '../harness/redis-meter.ts';
import type { Stage } from '../harness/stage.ts';
import { notices } from '../work.ts';
import { PAYLOAD_KEY, startOurs } from './single-sends.ts';

/** Memory under a steady load, at one moment. */
export interface SoakSample {
  readonly seconds: number;
  readonly sent: number;
  readonly workerMb: number;
  readonly redisMb: number;
}

const PER_SECOND = 500;
const SAMPLE_EVERY_S = 10;

/**
 * Sends at a steady pace and looks at the memory of worker and Redis now and then. The jobs that are
 * kept for a look back reach their bound after twenty seconds; nothing may grow after that.
 */
export async function soak(stage: Stage, seconds: number): Promise<SoakSample[]> {
  const prefix = 'bench';
  const queue = new NoticeQueue({
    redis: { url: stage.redisUrl },
    prefix,
    payloadKey: PAYLOAD_KEY,
  });
  const worker = startOurs(stage, prefix);
  const samples: SoakSample[] = [];
  const begunAt = performance.now();
  try {
    for (let second = 1; second <= seconds; second++) {
      await queue.sendMany(notices(PER_SECOND, second * PER_SECOND));
      const restMs = begunAt + second * 1_000 - performance.now();
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, restMs)));
      if (second % SAMPLE_EVERY_S !== 0) continue;
      const { rssMb } = await worker.usage();
      const { memoryBytes } = await redisUsage(stage.redis);
      const sent = second * PER_SECOND;
      samples.push({ seconds: second, sent, workerMb: rssMb, redisMb: memoryBytes / 1_048_576 });
    }
  } finally {
    await queue.close();
    await worker.stop();
  }
  return samples;
}
