import type { MeasuredProcess } from './measured-process.ts';
import { redisUsage, usedBetween, type RedisUsage } from './redis-meter.ts';
import type { Stage } from './stage.ts';

/** What one run of one contestant took, after its warm-up. */
export interface Timed {
  /** Units of work a second: contacts, jobs or rows, as the leg says. */
  readonly rate: number;
  readonly cpuUs: number;
  readonly redisCpuUs: number;
  readonly serviceCpuUs: number;
  readonly redis: RedisUsage;
  /** Peak memory of the process since its start. */
  readonly peakMb: number;
}

interface Reached {
  readonly reached: number;
  readonly atMs: number;
}

const LONGEST_MS = 300_000;

/**
 * Times a process between two totals.
 *
 * @param teller who says when the totals are reached: the service for those who send
 * @param totals where the clock starts and where it stops
 * @param begin sets the process going, where it is not
 */
export async function timed(
  stage: Stage,
  process: MeasuredProcess,
  teller: MeasuredProcess,
  totals: { readonly warm: number; readonly all: number },
  begin: () => void = () => {},
): Promise<Timed> {
  const look = async () => ({
    process: await process.usage(),
    service: await stage.service.usage(),
    redis: await redisUsage(stage.redis),
  });
  begin();
  const first = await teller.next<Reached>('reached', LONGEST_MS);
  const before = await look();
  const last = await teller.next<Reached>('reached', LONGEST_MS);
  const after = await look();
  const units = totals.all - totals.warm;
  const redis = usedBetween(before.redis, after.redis);
  const each = (ms: number) => (1_000 * ms) / units;
  return {
    rate: (1_000 * units) / (last.atMs - first.atMs),
    cpuUs: each(after.process.cpuMs - before.process.cpuMs),
    redisCpuUs: each(redis.cpuMs),
    serviceCpuUs: each(after.service.cpuMs - before.service.cpuMs),
    redis,
    peakMb: after.process.peakMb,
  };
}

/** Asks the service to say when so many contacts were accepted. */
export function awaitTotals(stage: Stage, { warm, all }: { warm: number; all: number }): void {
  stage.service.send({ reach: warm });
  stage.service.send({ reach: all });
}
