import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import type { MeasuredProcess } from '../harness/measured-process.ts';
import type { Stage } from '../harness/stage.ts';
import { notices, WARM_UP } from '../work.ts';
import { PAYLOAD_KEY, startOurs } from './single-sends.ts';

/** Sends a second of `notices worker --processes N`, one contact a request. */
export async function withProcesses(
  stage: Stage,
  processes: number,
  measured: number,
): Promise<number> {
  const prefix = 'bench';
  const queue = new NoticeQueue({
    redis: { url: stage.redisUrl },
    prefix,
    payloadKey: PAYLOAD_KEY,
  });
  const all = WARM_UP.singles + measured;
  for (let from = 0; from < all; from += 1_000) {
    await queue.sendMany(notices(Math.min(1_000, all - from), from));
  }
  await queue.close();
  stage.service.send({ reach: WARM_UP.singles });
  stage.service.send({ reach: all });
  const worker = startOurs(stage, prefix, {}, ['--processes', String(processes)]);
  try {
    const first = await reached(stage.service);
    const last = await reached(stage.service);
    return (1_000 * measured) / (last - first);
  } finally {
    await worker.stop();
  }
}

async function reached(service: MeasuredProcess): Promise<number> {
  return (await service.next<{ reached: number; atMs: number }>('reached', 300_000)).atMs;
}
