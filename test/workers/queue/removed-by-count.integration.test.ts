import { expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { readNotice } from '../../../src/contracts/notice.ts';
import { planJob } from '../../../src/producer/planned-job.ts';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { InFlight } from '../../../workers/queue/in-flight.ts';
import { buildSendWorker, lanesOf } from '../../../workers/queue/send-worker.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';

const redis = testRedis();
const HOUR_MS = 3_600_000;
/** In place of the 10,000 of a worker. */
const KEPT = 2;

function planned() {
  const notice = readNotice({ templateCode: 'T', contacts: [{ contact: '01000000001' }] }, '');
  const settings = { delivery: 'at-least-once', idempotencyWindowMs: HOUR_MS } as const;
  return planJob(notice, {}, { ...settings, now: Date.now, secret: '' });
}

it('an add that is repeated after other jobs have displaced its own runs nothing', async () => {
  const keys = keysOf(redis.freshPrefix(), 'default');
  const settings = loadConfig({}, { service: false }).worker;
  const lane = { ...lanesOf(settings).notices, keepDone: { age: 3_600, count: KEPT } };
  const ran: string[] = [];
  const worker = buildSendWorker(
    { redis: redis.connect({ forWorker: true }), keys, lane, settings, inFlight: new InFlight() },
    ({ id = '' }) => {
      ran.push(id);
      return Promise.resolve({ outcome: 'accepted' });
    },
  );
  void worker.run();
  const queue = openBullQueue(QUEUE_NAME, redis.client, keys);
  try {
    const job = planned();
    const id = job.opts.jobId;
    const add = async (one: typeof job) => {
      await queue.addBulk([{ ...one, opts: { ...one.opts } }]);
    };
    const runs = (count: number) => until(() => ran.length === count, { what: `${count} runs` });
    await add(job);
    await runs(1);
    for (let others = 1; others <= KEPT; others++) {
      await add(planned());
      await runs(1 + others);
    }
    const isGone = async () => (await redis.client.exists(keys.noticeJob(id))) === 0;
    await until(isGone, { what: 'the job to be removed' });
    await add(job);
    await add(planned());
    await runs(2 + KEPT);
    expect(ran.filter((one) => one === id)).toHaveLength(1);
  } finally {
    await worker.close();
    await queue.close();
  }
});
