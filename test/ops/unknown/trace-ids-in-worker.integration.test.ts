import { expect, it } from 'vitest';
import { readAudit } from '../../../src/ops/audit.ts';
import { unknownNotices } from '../../support/unknown-notices.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { startWorkerInProcess } from '../../workers/support/worker-in-process.ts';
import { endedThen } from '../support/failed-notices.ts';

const redis = testRedis();

it('workers list the trace id of each attempt that may have been accepted; one with UNKNOWN_ACCEPTED_AFTER_MS decides', async () => {
  const { prefix, keys, queue } = redis.account();
  const { id } = await queue.send({ templateCode: 'T', contacts: [{ contact: '01000000001' }] });
  const env = { UNKNOWN_RESENDS: '2', BACKOFF_CAP_MS: '2000' };
  const answered: unknown[] = [];
  // Each attempt is another worker's: what it knows of the earlier ones is in the job.
  for (const attempt of [1, 2, 3]) {
    const worker = await startWorkerInProcess(redis.url, prefix, env);
    worker.emulator.addFault({ on: 'send', status: 500, code: 'HTTP_500' });
    const isMade = async () => (await queue.get(id)).attempts >= attempt;
    await until(isMade, { what: `attempt ${attempt}`, deadlineMs: 20_000 });
    await worker.stop();
    const ids = worker.lines.flatMap(({ requestId }) => requestId ?? []);
    answered.push(...new Set(ids));
  }
  const [listed] = await unknownNotices({ redis: redis.client, keys });
  expect(answered).toHaveLength(3);
  expect(listed).toMatchObject({ id, possiblySent: 3, traceIds: answered });

  // As if two minutes had passed.
  await endedThen(redis.client, keys, id, Date.now() - 120_000);
  const rule = { UNKNOWN_ACCEPTED_AFTER_MS: '1m' };
  await startWorkerInProcess(redis.url, prefix, rule);
  const isDecided = async () => (await readAudit(redis.client, keys, 5)).length > 0;
  await until(isDecided, { what: 'the decision', deadlineMs: 20_000 });
  expect(await readAudit(redis.client, keys, 5)).toMatchObject([
    { who: 'UNKNOWN_ACCEPTED_AFTER_MS', what: 'decide', target: id, as: 'accepted unknown' },
  ]);
}, 90_000);
