import { expect, it } from 'vitest';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { room } from '../../service-coverage/support/line.ts';
import { until } from '../../support/wait.ts';
import { bullQueue } from '../../support/bull-queue.ts';

const lines = room();

it('the log line of an accepted notice has every fact', async () => {
  const { deliver } = await lines.direct();
  expect(await deliver({ templateCode: 'T', contacts: [{ contact: '01000000001' }] })).toEqual(
    expect.objectContaining({
      outcome: 'accepted',
      attempt: 1,
      contacts: 1,
      status: 200,
      requests: 1,
      token: expect.stringMatching(/^[0-9a-f]{16}$/) as unknown,
      waitedMs: expect.any(Number) as unknown,
      sendMs: expect.any(Number) as unknown,
    }),
  );
});

it('a notice waits from when it is due, not from when it was queued, also after a retry', async () => {
  const { emulator, queue, prefix, attempts } = await lines.direct();
  emulator.addFault({ on: 'send', reset: 'after-acting', times: 1 });
  const contacts = [{ contact: '01000000001' }];
  const receipt = await queue.send({ templateCode: 'T', contacts }, { delay: 3_600_000 });
  const { client } = lines.redis;
  const board = bullQueue(QUEUE_NAME, client, keysOf(prefix, 'default'));
  const job = await board.getJob(receipt.id);
  // As if it had been queued an hour and six seconds ago: a worker knows the time of Redis to some milliseconds.
  await client.hset(board.toKey(receipt.id), 'timestamp', (job?.timestamp ?? 0) - 3_606_000);
  await job?.promote();
  await until(() => attempts(receipt).length === 2, { what: 'two attempts' });
  expect(attempts(receipt).map(({ outcome }) => outcome)).toEqual(['unknown', 'accepted']);
  for (const { waitedMs } of attempts(receipt)) {
    expect(waitedMs).toBeGreaterThanOrEqual(5_000);
    expect(waitedMs).toBeLessThan(300_000);
  }
});

it.each(['notice', 'chunk'])(
  'a request for a %s that was refused is counted where no other token can be had',
  async (lane) => {
    const { emulator, queue, attempts, deliver } = await lines.direct();
    const contacts = [{ contact: '01000000001' }];
    await deliver({ templateCode: 'T', contacts });
    const earlier = attempts().length;
    emulator.addFault({ on: 'token', status: 403, code: 'ACCESS_KEY_NOT_APPROVED', times: 1 });
    emulator.addFault({ on: 'send', status: 401, code: 'TOKEN_EXPIRED', times: 1 });
    if (lane === 'notice') await queue.send({ templateCode: 'T', contacts });
    else await queue.import(contacts, { templateCode: 'T', chunkSize: 1 });
    const shown = () =>
      attempts()
        .slice(earlier)
        .filter(({ outcome }) => outcome !== 'returned');
    await until(() => shown().some(({ outcome }) => outcome === 'accepted'), {
      what: 'the accepted attempt',
    });
    expect(shown()[0]).toMatchObject({
      outcome: 'hold',
      code: 'ACCESS_KEY_NOT_APPROVED',
      status: 401,
      serviceCode: 'TOKEN_EXPIRED',
      requests: 1,
    });
  },
);
