import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import { redisUsage } from '../harness/redis-meter.ts';
import type { Stage } from '../harness/stage.ts';
import { awaitTotals } from '../harness/timed.ts';
import { notices, WARM_UP } from '../work.ts';
import { PAYLOAD_KEY, startOurs, worked } from './single-sends.ts';

/** What a send costs while so many others wait. */
export interface Growth {
  readonly kind: 'waiting' | 'delayed';
  readonly jobs: number;
  readonly rate: number;
  readonly cpuUs: number;
  readonly redisCpuUs: number;
  /** Bytes in Redis of each that waits. */
  readonly bytesEach: number;
}

const ADD_AT_ONCE = 1_000;
const ADDS_AT_A_TIME = 4;
/** Sent at each size, after the warm-up. */
const MEASURED = 8_000;
/** Delayed ones never come due within a run. */
const DELAY_MS = 24 * 3_600_000;

/**
 * Fills the queue up to each size in turn, and lets a worker send some of what waits there. Those
 * that are measured are sent first in, first out; delayed ones only lie there.
 */
export async function growth(
  stage: Stage,
  kind: Growth['kind'],
  sizes: readonly number[],
): Promise<Growth[]> {
  const prefix = 'bench';
  const queue = new NoticeQueue({
    redis: { url: stage.redisUrl },
    prefix,
    payloadKey: PAYLOAD_KEY,
    enqueueTimeoutMs: 30_000,
  });
  const empty = (await redisUsage(stage.redis)).memoryBytes;
  const all: Growth[] = [];
  let lying = 0;
  let added = 0;
  const add = async (count: number, delay: number | undefined) => {
    for (let done = 0; done < count; done += ADD_AT_ONCE * ADDS_AT_A_TIME) {
      const batches = Array.from({ length: ADDS_AT_A_TIME }, (_, slot) => {
        const from = done + slot * ADD_AT_ONCE;
        const some = Math.max(0, Math.min(ADD_AT_ONCE, count - from));
        const list = notices(some, added + from);
        return queue.sendMany(list, delay === undefined ? {} : { delay });
      });
      await Promise.all(batches);
    }
    added += count;
  };
  try {
    for (const size of sizes) {
      await add(size - lying, kind === 'delayed' ? DELAY_MS : undefined);
      lying = size;
      const { memoryBytes } = await redisUsage(stage.redis);
      const totals = { warm: WARM_UP.singles, all: WARM_UP.singles + MEASURED };
      // What is sent now is on top, so that as many lie there at the end as at the beginning.
      await add(totals.all, undefined);
      stage.service.send({ clear: true });
      awaitTotals(stage, totals);
      const worker = startOurs(stage, prefix);
      const { rate, cpuUs, redisCpuUs } = await worked(stage, worker, stage.service, totals);
      all.push({
        kind,
        jobs: size,
        rate,
        cpuUs,
        redisCpuUs,
        bytesEach: (memoryBytes - empty) / size,
      });
    }
  } finally {
    await queue.close();
  }
  return all;
}
