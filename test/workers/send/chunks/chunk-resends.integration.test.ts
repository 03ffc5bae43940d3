import { expect, it, onTestFinished } from 'vitest';
import type { FailureRecord } from '../../../../src/batch/ledger/ledger-reader.ts';
import { CHUNK_QUEUE_NAME, keysOf } from '../../../../src/redis/keys.ts';
import { openBullQueue } from '../../../../src/redis/open-queue.ts';
import { buildBatch, contacts, type BuiltBatch } from '../../../batch/support/built-batch.ts';
import { testRedis } from '../../../support/redis.ts';
import { until } from '../../../support/wait.ts';
import { startWorkerInProcess } from '../../support/worker-in-process.ts';

const redis = testRedis();
const PLAN = { frame: '{"templateCode":"T","scheduleType":"DIRECTLY"}' };
const LONG = { deadlineMs: 60_000 };

async function failuresOf(batch: BuiltBatch): Promise<FailureRecord[]> {
  const isOver = async () => (await batch.read()).phase === 'finished';
  await until(isOver, { what: 'the end of the batch', ...LONG });
  const found: FailureRecord[] = [];
  for await (const failure of batch.ledger.failures('b')) found.push(failure);
  return found;
}

it('a chunk whose batch is paused and resumed between attempts is sent again no more often', async () => {
  const prefix = redis.freshPrefix();
  const batch = await buildBatch(redis.client, prefix, 'b', [contacts(3)], { plan: PLAN });
  const lost = { on: 'send', status: 500, code: 'HTTP_500', afterActing: true } as const;
  const env = { UNKNOWN_RESENDS: '1', BACKOFF_CAP_MS: '1000' };
  const worker = await startWorkerInProcess(redis.url, prefix, env, { faults: [lost] });
  onTestFinished(() => worker.stop());
  const { emulator } = worker;
  const queue = openBullQueue(
    CHUNK_QUEUE_NAME,
    redis.connect({ name: 'board' }),
    keysOf(prefix, 'default'),
  );
  onTestFinished(() => queue.close());

  await until(() => emulator.record().requests === 1, { what: 'the first attempt', ...LONG });
  await batch.ledger.control('b', 'pause');
  const left = async () => (await queue.getJobs(['waiting', 'active', 'delayed'])).length;
  await until(async () => (await left()) === 0, { what: 'the end of its job', ...LONG });
  await batch.ledger.control('b', 'resume');
  expect(await failuresOf(batch)).toMatchObject([{ state: 'unknown', size: 3, code: 'HTTP_500' }]);
  expect((await batch.read()).counts.possiblySentTwice).toBe(3);
  // Sent, and sent again once, as UNKNOWN_RESENDS allows.
  expect(emulator.record()).toMatchObject({ requests: 2, contacts: 6 });
  const lines = () => worker.lines.filter(({ event }) => event === 'attempt');
  await until(() => lines().length >= 2, { what: 'the line of each attempt' });
  expect(lines().map(({ possiblySent }) => possiblySent)).toEqual([1, 2]);
}, 120_000);

it('a chunk whose deadline passes while it waits for a token is not sent', async () => {
  const prefix = redis.freshPrefix();
  const plan = { ...PLAN, expiresAt: Date.now() + 3_000 };
  const batch = await buildBatch(redis.client, prefix, 'b', [contacts(3)], { plan });
  const slow = { on: 'token', latencyMs: 5_000 } as const;
  const worker = await startWorkerInProcess(redis.url, prefix, {}, { faults: [slow] });
  onTestFinished(() => worker.stop());

  expect(await failuresOf(batch)).toMatchObject([{ state: 'expired', size: 3 }]);
  expect(worker.emulator.record().requests).toBe(0);
  const lines = () => worker.lines.filter(({ outcome = 'returned' }) => outcome !== 'returned');
  await until(() => lines().length > 0, { what: 'the line of the end' });
  expect(lines()).toMatchObject([{ outcome: 'expired', batch: 'b', contacts: 3 }]);
}, 120_000);
