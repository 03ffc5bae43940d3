import { describe, expect, it } from 'vitest';
import { NoticeAdmin } from '../../../src/admin/index.ts';
import { allFailed } from '../../../src/batch/ledger/settlement.ts';
import { buildBatch, contacts } from '../../batch/support/built-batch.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { failNotices } from '../support/failed-notices.ts';
import { expectDocumented, startOps } from './support/ops-bench.ts';

const redis = testRedis();
const why = 'template approved';

/** Six rejected single notices, and a batch of four rejected chunks with two contacts each. */
async function bench() {
  const prefix = redis.freshPrefix();
  await failNotices(redis, prefix, { count: 6 });
  const lists = Array.from({ length: 4 }, (_, at) => contacts(2, at * 2));
  const batch = await buildBatch(redis.client, prefix, 'b', lists);
  for (const chunk of lists.keys()) {
    await batch.settle(chunk, allFailed('rejected', 'BAD_NUMBER', ''));
  }
  const server = await startOps(redis.url, prefix);
  const admin = new NoticeAdmin({ redis: connectionAs('ops', redis.url), prefix });
  return { batch, admin, operator: await server.operator() };
}

const BATCH = '/api/v1/batches/b/redrive';
const NOTICES = '/api/v1/failed-notices/redrive';

describe('a redrive with a rate', () => {
  it('of a batch keeps to it, over HTTP as on the command line', async () => {
    const { operator, batch } = await bench();
    const startedAt = performance.now();
    const reply = await operator.post(BATCH, {
      state: 'rejected',
      rate: 16,
      code: 'BAD_NUMBER',
      why,
    });
    // 8 contacts at 16 a second.
    expect(performance.now() - startedAt).toBeGreaterThan(480);
    expectDocumented('POST', BATCH, reply);
    const { waitMs, ...report } = reply.json;
    expect(report).toEqual({ batch: 'b', redriven: 8, chunks: 4, left: 0, gone: 0 });
    // It has waited itself; a timer may end a millisecond early.
    expect(waitMs).toBeLessThanOrEqual(3);
    expect((await batch.read()).counts).toMatchObject({ pending: 8, rejected: 0 });
  });

  it('of a batch that is paused meanwhile answers what is left, and why', async () => {
    const { operator, batch, admin } = await bench();
    const pauseAfter = async (rejected: number) => {
      const reached = async () => (await batch.read()).counts.rejected === rejected;
      await until(reached, { what: `${rejected} contacts rejected` });
      await batch.ledger.control('b', 'pause');
    };
    const reason = 'it is paused; run "notices resume b" first';
    const request = operator.post(BATCH, { state: 'rejected', rate: 2, why });
    await pauseAfter(6);
    const reply = await request;
    expectDocumented('POST', BATCH, reply);
    expect(reply.json).toMatchObject({ redriven: 2, left: 6, gone: 0, reason });
    await batch.ledger.control('b', 'resume');
    const redriving = admin.run('batch redrive', { id: 'b', rate: 2 });
    await pauseAfter(4);
    expect(await redriving).toMatchObject({
      batch: 'b',
      redriven: 2,
      chunks: 1,
      left: 4,
      gone: 0,
      reason,
    });
  });

  it('answers how long to wait before it is repeated, so that the rate holds across requests', async () => {
    const { operator } = await bench();
    const startedAt = performance.now();
    const reply = await operator.post(NOTICES, { limit: 1, rate: 1, why });
    const tookMs = performance.now() - startedAt;
    expectDocumented('POST', NOTICES, reply);
    const { waitMs, ...report } = reply.json;
    expect(report).toEqual({ done: 1, contacts: 1, late: 0, gone: 0, left: 5 });
    // One notice at one a second: the request and the wait are a second, or more.
    expect(Number(waitMs) + tookMs).toBeGreaterThanOrEqual(1_000);
    expect(waitMs).toBeLessThanOrEqual(1_000);
    // Without a rate there is nothing to wait for.
    const rest = await operator.post(NOTICES, { why });
    expect(rest.json).toEqual({ done: 5, contacts: 5, late: 0, gone: 0, left: 0 });
  });
});
