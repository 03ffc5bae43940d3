import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allFailed } from '../../../src/batch/ledger/settlement.ts';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { Redis } from 'ioredis';
import { buildBatch, contacts } from '../../batch/support/built-batch.ts';
import { numbers } from '../../support/fleet.ts';
import { failNotices } from '../support/failed-notices.ts';
import { commandsDuring } from './support/commands.ts';
import { startOps, type OpsBench } from './support/ops-bench.ts';
import { acceptOf, readPaths } from './support/read-paths.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { ownRedis } from '../../support/own-redis.ts';

/** What may be asked of Redis for one answer, at most. */
const MOST_COMMANDS = 60;

/** The newest failed notices that a list reads. */
const FAILED_READ = 500;

/** Commands that read as much as there is. */
const NEVER = new Set(['keys', 'scan', 'smembers']);

/**
 * A queue of a size: jobs that wait, a batch of chunks of which half wait and half failed, as many rejected as unknown
 * notices, and a batch of which all chunks are unknown.
 */
async function fill(
  url: string,
  prefix: string,
  jobs: number,
  chunks: number,
  failed: number,
): Promise<void> {
  const queue = new NoticeQueue({
    redis: connectionAs('producer', url),
    prefix,
    enqueueTimeoutMs: 20_000,
  });
  await queue.sendMany(
    numbers(jobs).map((contact) => ({ templateCode: 'T', contacts: [{ contact }] })),
  );
  await queue.close();
  const redis = new Redis(url);
  const lists = contacts(2 * chunks).map((contact) => [contact]);
  const batch = await buildBatch(redis, prefix, 'b', lists);
  const failing = lists.slice(0, chunks);
  const rejected = (chunk: number) => allFailed('rejected', `CODE_${chunk % 3}`, '');
  await Promise.all(failing.map((_, chunk) => batch.settle(chunk, rejected(chunk))));
  const unknown = await buildBatch(redis, prefix, 'u', failing);
  const lost = allFailed('unknown', 'ECONNRESET', '');
  await Promise.all(failing.map((_, chunk) => unknown.settle(chunk, lost)));
  await failNotices({ url, client: redis }, prefix, { count: failed });
  await failNotices({ url, client: redis }, prefix, {
    count: failed,
    from: failed,
    state: 'unknown',
  });
  redis.disconnect();
}

describe('what an answer costs Redis', async () => {
  const { server } = await ownRedis({}, afterAll);

  beforeAll(async () => {
    await fill(server.url, 'small', 10, 10, FAILED_READ);
    await fill(server.url, 'large', 5_000, 2_000, 20 * FAILED_READ);
  }, 120_000);

  async function costs(bench: OpsBench): Promise<Record<string, Record<string, number>>> {
    const operator = await bench.operator();
    const found: Record<string, Record<string, number>> = {};
    // These read what they sum up: a bounded number of notices, which they say, or all parts of a list.
    for (const path of readPaths('b').filter((one) => !/\/(waiting|results)$/.test(one))) {
      const ask = async () => (await operator.get(path, { accept: acceptOf(path) })).status;
      // The first time each script is sent as a whole.
      expect([path, await ask()]).toEqual([path, 200]);
      found[path] = await commandsDuring(server.url, ask);
    }
    return found;
  }

  it('is bounded, and the same for 10 jobs and chunks and 1,000 failed notices and for thousands of each', async () => {
    const small = await costs(await startOps(server.url, 'small'));
    const large = await costs(await startOps(server.url, 'large'));
    expect(large).toEqual(small);
    for (const [path, commands] of Object.entries(small)) {
      if (path.startsWith('/queues')) continue;
      const sum = Object.values(commands).reduce((all, calls) => all + calls, 0);
      expect([path, sum <= MOST_COMMANDS]).toEqual([path, true]);
      expect(Object.keys(commands).filter((name) => NEVER.has(name))).toEqual([]);
    }
    expect(Object.keys(small).length).toBeGreaterThan(12);
  }, 120_000);
});
