import type { Queue } from 'bullmq';
import { afterEach } from 'vitest';
import type { SendOptions } from '../../../src/contracts/send-options.ts';
import { listUnknownNotices, type UnknownNotice } from '../../../src/ops/unknown.ts';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { numbers, startFleet, type Fleet } from '../../support/fleet.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';

/** A dead worker's job is found after a second or two. */
const SHORT_LOCK = {
  LOCK_DURATION_MS: '4000',
  HEARTBEAT_MS: '500',
  SEND_DEADLINE_MS: '1900',
  ANSWER_TIMEOUT_MS: '1500',
  CONNECT_TIMEOUT_MS: '300',
  ISSUE_DEADLINE_MS: '1900',
  ATTEMPTS: '2',
  BACKOFF_BASE_MS: '50',
  BACKOFF_CAP_MS: '100',
};

/** A fleet whose dead workers are found within seconds, and what it lists as unknown. */
export function atMostOnceFleet() {
  const redis = testRedis();
  let fleet: Fleet | undefined;
  let boards: Queue[] = [];

  afterEach(async () => {
    for (const board of boards) await board.close();
    boards = [];
    await fleet?.close();
    fleet = undefined;
  });

  async function begin(env: Readonly<Record<string, string>> = {}) {
    const prefix = redis.freshPrefix();
    const keys = keysOf(prefix, 'default');
    const on = await startFleet({
      redisUrl: redis.url,
      prefix,
      processes: 1,
      env: { ...SHORT_LOCK, ...env },
    });
    fleet = on;
    const board = openBullQueue(QUEUE_NAME, redis.connect({ name: 'board' }), keys);
    boards.push(board);
    const [worker] = on.workers;
    if (worker === undefined) throw new Error('the fleet has no worker');
    const send = async (options: SendOptions = { delivery: 'at-most-once' }) => {
      const [contact = ''] = numbers(1);
      return on.queue.send({ templateCode: 'ONCE', contacts: [{ contact }] }, options);
    };
    const listed = (): Promise<UnknownNotice | undefined> =>
      until(async () => (await listUnknownNotices({ redis: redis.client, keys }))[0], {
        what: 'the notice to be listed',
        deadlineMs: 30_000,
      });
    return { on, keys, board, worker, send, listed };
  }

  return { redis, begin };
}
