import { expect, it, onTestFinished } from 'vitest';
import type { Fault } from '../../../../src/emulator/faults/fault.ts';
import type { FailureRecord } from '../../../../src/batch/ledger/ledger-reader.ts';
import { buildBatch, contacts } from '../../../batch/support/built-batch.ts';
import { testRedis } from '../../../support/redis.ts';
import { until } from '../../../support/wait.ts';
import { startWorkerInProcess } from '../../support/worker-in-process.ts';

const redis = testRedis();
const PLAN = { frame: '{"templateCode":"T","scheduleType":"DIRECTLY"}' };

/** Sends a batch of one chunk to a service with these faults; its failure, and the trace ids of each attempt. */
async function failureUnder(faults: readonly Fault[], size: number) {
  const prefix = redis.freshPrefix();
  const batch = await buildBatch(redis.client, prefix, 'b', [contacts(size)], { plan: PLAN });
  const env = { UNKNOWN_RESENDS: '1', BACKOFF_CAP_MS: '1000' };
  const worker = await startWorkerInProcess(redis.url, prefix, env, { faults: [...faults] });
  onTestFinished(() => worker.stop());
  const isOver = async () => (await batch.read()).phase === 'finished';
  await until(isOver, { what: 'the end of the batch', deadlineMs: 60_000 });
  const found: FailureRecord[] = [];
  for await (const failure of batch.ledger.failures('b')) found.push(failure);
  const answered = [
    ...new Set(
      worker.lines.flatMap(({ requestId }) => (typeof requestId === 'string' ? [requestId] : [])),
    ),
  ];
  return { found, answered, twice: (await batch.read()).counts.possiblySentTwice };
}

it('a chunk whose attempts all ended unknown has the trace id of each', async () => {
  const lost = { on: 'send', status: 500, code: 'HTTP_500', times: 2 } as const;
  const { found, answered, twice } = await failureUnder([lost], 3);
  expect(answered).toHaveLength(2);
  expect(found).toMatchObject([{ state: 'unknown', size: 3 }]);
  expect(found[0]?.message).toMatch(new RegExp(`\\(trace ids ${answered.join(' ')}\\)$`));
  expect(twice).toBe(3);
}, 90_000);

it('one that was rejected after that has the trace id of the attempt that may have been accepted', async () => {
  const lost = { on: 'send', status: 500, code: 'HTTP_500', times: 1 } as const;
  const refused = { on: 'send', status: 400, code: 'BAD_TEXT', times: 1 } as const;
  const { found, answered } = await failureUnder([lost, refused], 1);
  expect(answered).toHaveLength(2);
  expect(found).toMatchObject([{ state: 'unknown', size: 1 }]);
  expect(found[0]?.message).toMatch(new RegExp(`\\(trace id ${answered[0]}\\)$`));
}, 90_000);
