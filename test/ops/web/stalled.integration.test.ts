import { describe, expect, it } from 'vitest';
import { allAccepted } from '../../../src/batch/ledger/settlement.ts';
import { CHUNK_JOB_NAME, CHUNK_JOB_VERSION, chunkJobId } from '../../../src/contracts/job.ts';
import type { Term } from '../../../src/fleet/restore/epoch.ts';
import { beat } from '../../../src/fleet/heartbeat.ts';
import { CHUNK_QUEUE_NAME } from '../../../src/redis/keys.ts';
import { buildBatch, contacts } from '../../batch/support/built-batch.ts';
import { run } from '../../cli/support/run.ts';
import { testRedis } from '../../support/redis.ts';
import { expectDocumented, startOps } from './support/ops-bench.ts';
import { bullQueue } from '../../support/bull-queue.ts';

const redis = testRedis();
const HTML = { accept: 'text/html' };

/** A batch, half of it sent, that has not moved for two minutes, and a worker that has nothing to do. */
async function bench() {
  const prefix = redis.freshPrefix();
  const server = await startOps(redis.url, prefix);
  const { keys, ledger } = server.context;
  const built = await buildBatch(redis.client, prefix, 'b', [contacts(10), contacts(10, 10)]);
  await built.settle(0, allAccepted());
  const { record } = keys.batch('b');
  await redis.client.hset(record, { movedAt: Date.now() - 120_000, queued: 2 });
  const worker = {
    id: 'w',
    host: 'h',
    pid: 1,
    version: '0',
    concurrency: 1,
    loopDelayMs: 0,
    pair: 'pair',
  };
  const work = (active: number, memory?: Term) =>
    beat(redis.client, keys, { ...worker, active, startedAt: 0 }, 60_000, memory);
  const memory = await work(0);
  const viewer = await server.viewer();
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
  const cli = async (...args: string[]) => (await run(args, env)).stdout;
  const one = async () => {
    const reply = await viewer.get('/api/v1/batches/b');
    expectDocumented('GET', '/api/v1/batches/b', reply);
    return reply.json as { batch: { stalled: boolean; restMs: number | null }; standstill: string };
  };
  return { keys, viewer, ledger, built, cli, one, beBusy: () => work(1, memory) };
}

describe('a batch that makes no progress although nothing holds it', () => {
  it('is stalled in the API, on the pages and on the command line, without a remaining time', async () => {
    const { viewer, cli, one } = await bench();
    expect(await one()).toMatchObject({
      batch: { stalled: true, restMs: null },
      standstill: expect.stringContaining('it is stalled') as string,
    });
    const list = await viewer.get('/api/v1/batches');
    expect(list.json['batches']).toMatchObject([{ stalled: true, restMs: null }]);
    const status = await viewer.get('/api/v1/status');
    expectDocumented('GET', '/api/v1/status', status);
    expect(status.json['batches']).toMatchObject({ openBatches: [{ id: 'b', stalled: true }] });
    for (const path of ['/', '/batches', '/batches/b']) {
      const { text } = await viewer.get(path, HTML);
      expect([path, text.includes('<span class="tag stalled">stalled</span>')]).toEqual([
        path,
        true,
      ]);
      expect([path, / left\s*<span/.test(text)]).toEqual([path, false]);
    }
    expect(await cli('status')).toMatch(/^ {2}b: 10 of 20 contacts pending: it is stalled: /m);
    const shown = await cli('batch', 'b');
    expect(shown).toMatch(/^phase +sending, stalled, started/m);
    expect(shown).toMatch(/^Not sending: it is stalled: .*"notices doctor"/m);
    expect(shown).not.toContain(' left');
  });

  it('waits for its next attempt where its jobs are delayed', async () => {
    const { keys, cli, one, beBusy } = await bench();
    const queue = bullQueue(CHUNK_QUEUE_NAME, redis.client, keys);
    const data = { v: CHUNK_JOB_VERSION, batch: 'b', chunk: 1 };
    await queue.add(CHUNK_JOB_NAME, data, { jobId: chunkJobId(data), delay: 300_000 });
    const waits = 'what is left of it waits for its next attempt, from 20';
    expect(await one()).toMatchObject({
      batch: { stalled: false },
      // It may not have been tried yet: sending hours put it off, too.
      standstill: expect.stringMatching(new RegExp(`^${waits}[\\d :-]+ UTC on$`)) as string,
    });
    expect(await cli('status')).toContain(`  b: 10 of 20 contacts pending: ${waits}`);
    expect(await cli('batch', 'b')).toMatch(/^phase +sending, started/m);
    expect(await cli('doctor')).not.toContain('stalled');

    await queue.remove(chunkJobId(data));
    expect((await one()).batch.stalled).toBe(true);
    // Or for its turn, where workers are busy with others.
    await beBusy();
    expect((await one()).batch.stalled).toBe(false);
  }, 60_000);
});
