import type { Job, Queue } from 'bullmq';
import { readHold, readTemplateHolds } from '../../../src/fleet/hold/holds.ts';
import { countEnded } from '../../../src/notices/ended.ts';
import { keysOf, QUEUE_NAME, type Keys } from '../../../src/redis/keys.ts';
import { numbers, fleetOn, type Fleet } from '../../support/fleet.ts';
import { testRedis } from '../../support/redis.ts';
import { bullQueue } from '../../support/bull-queue.ts';

/** A fleet that probes a hold often. */
export function holdingFleet() {
  const redis = testRedis();
  let board: Queue | undefined;
  let keys: Keys = keysOf('', 'default');

  async function start(
    processes: number,
    env: Readonly<Record<string, string>> = {},
  ): Promise<Fleet> {
    const fleet = await fleetOn(redis, {
      processes,
      env: {
        CONCURRENCY: '16',
        HOLD_PROBE_MIN_MS: '500',
        HOLD_PROBE_MAX_MS: '2000',
        TOKEN_GRACE_MS: '500',
        ...env,
      },
    });
    keys = keysOf(fleet.prefix, 'default');
    const opened = bullQueue(QUEUE_NAME, redis.connect({ name: 'board' }), keys);
    board = opened;
    return fleet;
  }

  const hold = (on: Fleet) => readHold(redis.client, keysOf(on.prefix, 'default'));

  const templateHolds = (on: Fleet) =>
    readTemplateHolds(redis.client, keysOf(on.prefix, 'default'));

  /** Notices that were rejected, or are unknown. Exact at a moment. */
  const failedJobs = () => countEnded(redis.client, keys, ['rejected', 'unknown']);

  const jobsLeft = async (): Promise<Job[]> =>
    (await board?.getJobs(['waiting', 'active', 'delayed', 'failed'])) ?? [];

  return { redis, start, hold, templateHolds, failedJobs, jobsLeft };
}

/**
 * Other notices are sent and accepted meanwhile: without them nothing contradicts those that are refused.
 *
 * @returns how many others
 */
export async function amongOthers(on: Fleet, work: () => Promise<unknown>): Promise<number> {
  let others = 0;
  const traffic = setInterval(() => void on.sendEach(numbers(1, 90_000 + others++)), 100);
  try {
    await work();
  } finally {
    clearInterval(traffic);
  }
  return others;
}
