import { expect, it, vi } from 'vitest';
import { readEnded } from '../../src/notices/ended.ts';
import { QUEUE_NAME } from '../../src/redis/keys.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { startWorkerInProcess } from '../workers/support/worker-in-process.ts';
import { NOTHING, NUMBER, openErase, OTHER } from './support/open-erase.ts';
import { bullQueue } from '../support/bull-queue.ts';

/** Data that no worker can read. */

// A worker is started and stopped.
vi.setConfig({ testTimeout: 60_000 });

const redis = testRedis();

/** A queue of jobs of another producer, which have these texts as their data. */
function withJobs(texts: readonly string[]) {
  const opened = openErase(redis, redis.freshPrefix());
  const { keys, prefix, secrets } = opened;
  const queue = bullQueue(QUEUE_NAME, redis.client, keys);
  const add = async () => {
    const jobs = await Promise.all(texts.map(() => queue.add('send', {})));
    const ids = jobs.map(({ id = '' }) => id);
    const store = (id: string, index: number) =>
      redis.client.hset(keys.noticeJob(id), 'data', texts[index] ?? '');
    await Promise.all(ids.map(store));
    return ids;
  };
  /** The texts of those that are left. */
  const left = async (ids: readonly string[]) => {
    const found = await Promise.all(ids.map((id) => redis.client.exists(keys.noticeJob(id))));
    return texts.filter((_, index) => found[index] === 1);
  };
  const fail = async () => {
    const worker = await startWorkerInProcess(redis.url, prefix, secrets);
    const failed = async () =>
      (await redis.client.zcard(keys.endedIn('rejected'))) === texts.length;
    await until(failed, { what: 'their failure', deadlineMs: 20_000 });
    await worker.stop();
  };
  return { ...opened, add, left, fail };
}

const invalid = (contact: unknown) =>
  JSON.stringify({ v: 1, notice: { templateCode: 'T', contacts: [{ contact }] } });

it('is removed where it has the number in any spelling, while it waits and after it failed', async () => {
  const texts = [
    `{"v":1,"notice":{"contacts":[{"contact":"${NUMBER}"`,
    `{"v":1,"accepted":["${NUMBER}"`,
    '{"v":1,"contact":"010-7777-8888',
    'to: +82 (0)10 7777 8888',
    'to=00821077778888;',
    'to: ０１０-７７７７-８８８８',
    'to=010%2D7777%2D8888&x',
    `x ${Buffer.from(`to ${NUMBER} now`).toString('base64')}`,
    invalid('+82 10-7777-8888'),
    // Without its zero.
    invalid(1077778888),
  ];
  const { add, left, fail, erase, traces } = withJobs(texts);
  for (const became of ['cancelled', 'removed']) {
    const ids = await add();
    if (became === 'removed') await fail();
    const { code, report } = await erase();
    expect([code, await left(ids)]).toEqual([0, []]);
    const notices = { ...NOTHING.notices, [became]: texts.length };
    expect(report).toMatchObject({ notices, left: [], unreadable: { notices: 0 } });
  }
  expect(new Set((await traces()).map(([form]) => form))).toEqual(new Set(['masked']));
});

it('stays where it has another number, or a longer one', async () => {
  const texts = [
    `{"v":1,"notice":{"contacts":[{"contact":"${OTHER}"`,
    `{"v":1,"x":"99${NUMBER}"`,
    `{"v":1,"x":"${NUMBER}9"`,
  ];
  const { add, fail, erase, keys } = withJobs(texts);
  const ids = await add();
  await fail();
  expect(await erase()).toEqual({ code: 0, report: NOTHING });
  const kept = await readEnded(redis.client, keys, ids);
  expect(kept.map(({ data }) => data)).toEqual(texts.map((text) => `data ${text}\n`));
});

it('is removed for a short number only where it is a whole value', async () => {
  const { add, left, erase } = withJobs(['{"v":1,"time":114,"to":"119"']);
  const ids = await add();
  expect(await erase('114')).toMatchObject({ report: { notices: NOTHING.notices } });
  expect(await left(ids)).toHaveLength(1);
  expect(await erase('119')).toMatchObject({ report: { notices: { cancelled: 1 } } });
});
