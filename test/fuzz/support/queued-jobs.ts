import * as fc from 'fast-check';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { OPS_ROUTES } from '../../../src/ops/web/http/route-table.ts';
import { seedOfRun } from '../../chaos/support/random.ts';
import { startOps } from '../../ops/web/support/ops-bench.ts';
import { acceptedNumbers, type Room } from '../../service-coverage/support/line.ts';
import { startEmulator } from '../../../src/emulator/emulator.ts';
import { numbers } from '../../support/fleet.ts';
import { until } from '../../support/wait.ts';
import { JOB } from '../targets/jobs.ts';
import { damaged, nearly, textOf } from './hostile.ts';

/** What may be in the field `data` of a job: text that any program has written. */
const stored = fc.oneof(
  nearly(JOB).map((data) => Buffer.from(textOf(data))),
  damaged(nearly(JOB).map(textOf)),
  damaged(fc.constant(JSON.stringify(JOB))),
);

/**
 * Queues jobs with hostile data among good notices. Every job must end or wait for a later version, every
 * good notice be accepted, and every page and route of the ops server be able to show what is left: those that
 * did not are returned.
 */
export async function runHostileJobs(
  lines: Room,
  count: number,
): Promise<{ readonly lost: readonly string[]; readonly broken: readonly string[] }> {
  const seed = seedOfRun();
  console.info(`fuzz queued jobs: NOTICES_SEED=${seed}`);
  const { redis } = lines;
  const emulator = await startEmulator();
  const line = await lines.line(emulator.url, { ATTEMPTS: '2' });
  const keys = keysOf(line.prefix, 'default');
  const queue = openBullQueue(QUEUE_NAME, redis.client, keys);
  try {
    await queue.pause();
    for (const data of fc.sample(stored, { numRuns: count, seed })) {
      const { id = '' } = await queue.add('send', {});
      await redis.client.hset(keys.noticeJob(id), 'data', data);
    }
    const good = numbers(10, 900);
    await line.queue.sendMany(
      good.map((contact) => ({ templateCode: 'T', contacts: [{ contact }] })),
    );
    await queue.resume();
    const left = async () => {
      const { waiting, active, prioritized, delayed } = await queue.getJobCounts();
      return [waiting, active, prioritized, (delayed ?? 0) - (await waitingForNewer())];
    };
    const waitingForNewer = async () =>
      (await queue.getJobs(['delayed'])).filter(
        ({ data }) => Number((data as { v?: unknown })?.v) > 1,
      ).length;
    await until(async () => (await left()).every((one) => (one ?? 0) === 0), {
      what: 'every job to end',
      deadlineMs: 120_000,
    });
    const accepted = new Set(acceptedNumbers(emulator));
    const broken: string[] = [];

    const viewer = await (await startOps(redis.url, line.prefix)).viewer();
    for (const { method, path } of OPS_ROUTES) {
      if (method !== 'GET' || path.includes(':')) continue;
      const { status } = await viewer.get(path);
      if (status >= 500) broken.push(path);
    }
    return { lost: good.filter((one) => !accepted.has(one)), broken };
  } finally {
    await queue.close();
    await emulator.close();
  }
}
