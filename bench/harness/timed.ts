import type { MeasuredProcess } from './measured-process.ts';
import { redisUsage, usedBetween } from './redis-meter.ts';
import type { Stage } from './stage.ts';

/** What one run of one contestant took, after its warm-up. */
export interface Timed {
  /** Units of work a second: contacts or rows, as the leg says. */
  readonly rate: number;
  /** Microseconds of CPU a unit: of its process, of Redis, of the service. */
  readonly cpuUs: number;
  readonly redisCpuUs: number;
  readonly serviceCpuUs: number;
}

/** Contacts at which the clock starts and stops. */
export interface Totals {
  readonly warm: number;
  readonly all: number;
}

/** What the service says of a total. */
export interface Reached {
  readonly reached: number;
  readonly atMs: number;
}

const LONGEST_MS = 300_000;

/** Starts a process, times it between two totals of accepted contacts, and ends it. */
export async function timed(
  stage: Stage,
  start: () => MeasuredProcess,
  { warm, all }: Totals,
): Promise<Timed> {
  const { service } = stage;
  service.send({ reach: warm });
  service.send({ reach: all });
  const process = start();
  const look = async () => ({
    process: await process.usage(),
    service: await service.usage(),
    redis: await redisUsage(stage.redis),
  });
  try {
    const first = await service.next<Reached>('reached', LONGEST_MS);
    const before = await look();
    const last = await service.next<Reached>('reached', LONGEST_MS);
    const after = await look();
    const each = (ms: number) => (1_000 * ms) / (all - warm);
    return {
      rate: (1_000 * (all - warm)) / (last.atMs - first.atMs),
      cpuUs: each(after.process.cpuMs - before.process.cpuMs),
      redisCpuUs: each(usedBetween(before.redis, after.redis).cpuMs),
      serviceCpuUs: each(after.service.cpuMs - before.service.cpuMs),
    };
  } finally {
    await process.stop();
  }
}
