import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { NoticeQueue, type NoticeQueueError, type Contact, type Notice } from '../../src/index.ts';
import { failureOf } from '../batch/support/import-world.ts';
import { until } from '../support/wait.ts';
import { startWorkerInProcess } from './support/worker-in-process.ts';
import { ownRedis } from '../support/own-redis.ts';

/*
 * A Redis whose memory applications fill: they are refused while workers still have room, so that what waits is sent and
 * there is room again.
 */
async function open(maxmemory: string) {
  const { client, url } = await ownRedis({ args: ['--maxmemory', maxmemory] });
  const queue = new NoticeQueue({ redis: { url }, prefix: 'full' });
  onTestFinished(() => queue.close());
  const addWorker = async () => {
    const settings = { REDIS_USERNAME: '', CONCURRENCY: '20', KEEP_ACCEPTED_MS: '0s' };
    return (await startWorkerInProcess(url, 'full', settings)).emulator;
  };
  return { queue, client, addWorker };
}

const CONTACTS = 60_000;
const numberOf = (at: number) => `010${String(10_000_000 + at)}`;
const noticeOf = (at: number): Notice => ({
  templateCode: 'FULL',
  contacts: Array.from({ length: 40 }, (_, of) => ({
    contact: numberOf(40 * at + of),
    var1: 'x'.repeat(40),
  })),
});

/** Sends until a call is refused. @returns how many were taken, and the refusal */
async function fill(queue: NoticeQueue): Promise<readonly [number, NoticeQueueError]> {
  for (let taken = 0; ;) {
    const some = Array.from({ length: 100 }, (_, at) => queue.send(noticeOf(taken + at)));
    const settled = await Promise.allSettled(some);
    taken += settled.filter(({ status }) => status === 'fulfilled').length;
    const refused = settled.find((one) => one.status === 'rejected');
    if (refused !== undefined) return [taken, refused.reason as NoticeQueueError];
  }
}

it('notices are refused while workers have room to send what waits', async () => {
  const { queue, client, addWorker } = await open('20mb');
  const [taken, refusal] = await fill(queue);
  expect(refusal).toMatchObject({ code: 'REDIS_FULL' });
  expect(taken).toBeGreaterThan(1_000);
  const emulator = await addWorker();
  await until(() => emulator.record().requests >= taken, {
    what: 'all to be sent',
    deadlineMs: 90_000,
  });
  expect(await client.info('errorstats')).not.toContain('errorstat_OOM');
  await queue.send(noticeOf(taken));
  await until(() => emulator.record().requests > taken, { what: 'one more' });
}, 120_000);

it('a list waits for workers, and leaves room for notices', async () => {
  const { queue, client, addWorker } = await open('10mb');
  function* list(): Generator<Contact> {
    for (let at = 0; at < CONTACTS; at++) {
      const text = () => randomBytes(30).toString('base64');
      yield { contact: numberOf(at), var1: text(), var2: text(), var3: text() };
    }
  }
  let waited = false;
  const imported = queue.import(list(), {
    templateCode: 'LIST',
    chunkSize: 100,
    onProgress: ({ waiting }) => {
      waited ||= waiting === 'memory';
    },
  });
  await until(() => waited, { what: 'the import to wait', deadlineMs: 60_000 });
  await queue.send(noticeOf(900_000));
  await addWorker();
  expect(await imported).toMatchObject({ contacts: CONTACTS });
  expect(await client.info('errorstats')).not.toContain('errorstat_OOM');
}, 120_000);

it('a worker starts on a Redis that is full', async () => {
  const { queue, client, addWorker } = await open('20mb');
  await queue.send(noticeOf(1));
  await client.config('SET', 'maxmemory', '1');
  expect(await failureOf(queue.send(noticeOf(2)))).toMatchObject({
    code: expect.stringMatching(/REDIS_FULL|QUEUE_REFUSED/) as string,
  });
  await addWorker();
});
