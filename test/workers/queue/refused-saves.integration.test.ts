import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, expect, it, vi } from 'vitest';
import { startRedisServer, type RedisServer } from '../../../scripts/redis/redis-server.ts';
import { NoticeQueue, NoticeQueueError } from '../../../src/index.ts';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { numbers } from '../../support/fleet.ts';
import { until } from '../../support/wait.ts';
import { startWorkerInProcess, type WorkerInProcess } from '../support/worker-in-process.ts';
import { connectionAs } from '../../support/redis-users.ts';

// Locks end, and Redis refuses writes for longer.
vi.setConfig({ testTimeout: 60_000 });

const NOTICES = 20;
const PREFIX = 'saves';
/** How long the service takes to answer: writes are refused meanwhile. */
const LATENCY_MS = 700;
const SHORT_LOCK = {
  CONCURRENCY: '20',
  LOCK_DURATION_MS: '5000',
  HEARTBEAT_MS: '500',
  SEND_DEADLINE_MS: '2400',
  ANSWER_TIMEOUT_MS: '2000',
  CONNECT_TIMEOUT_MS: '400',
  ISSUE_DEADLINE_MS: '2400',
};

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A Redis whose last snapshot failed: its file cannot replace a folder. It takes writes until its setting is changed. */
async function redisWithFailedSave(): Promise<{ server: RedisServer; admin: Redis }> {
  const dir = mkdtempSync(path.join(tmpdir(), 'notices-saves-'));
  closers.push(() => rmSync(dir, { recursive: true, force: true }));
  const server = await startRedisServer({ dir });
  closers.push(() => server.close());
  // Only now: a server cannot start from it.
  mkdirSync(path.join(dir, 'dump.rdb'));
  const admin = new Redis(server.url);
  closers.push(async () => {
    // Otherwise the server saves, in vain, before it ends.
    await admin.config('SET', 'save', '');
    admin.disconnect();
  });
  await admin.config('SET', 'stop-writes-on-bgsave-error', 'no');
  await admin.config('SET', 'save', '3600 1');
  await admin.bgsave();
  const hasFailed = async () =>
    (await admin.info('persistence')).includes('rdb_last_bgsave_status:err');
  await until(hasFailed, { what: 'the snapshot to fail' });
  return { server, admin };
}

const refuse = (admin: Redis, isRefused: boolean) =>
  admin.config('SET', 'stop-writes-on-bgsave-error', isRefused ? 'yes' : 'no');

/** Workers that send notices, all of which the service has, without one answer yet. */
async function sendAll(url: string): Promise<WorkerInProcess> {
  const worker = await startWorkerInProcess(url, PREFIX, SHORT_LOCK);
  closers.push(() => worker.stop());
  worker.emulator.addFault({ on: 'send', latencyMs: LATENCY_MS });
  const queue = new NoticeQueue({ redis: connectionAs('producer', url), prefix: PREFIX });
  closers.push(() => queue.close());
  await queue.sendMany(
    numbers(NOTICES).map((contact) => ({ templateCode: 'ONCE', contacts: [{ contact }] })),
  );
  const { emulator } = worker;
  await until(() => emulator.record().requests >= NOTICES, { what: 'all to be at the service' });
  return worker;
}

async function untilDone(admin: Redis): Promise<number> {
  const queue = openBullQueue(QUEUE_NAME, admin, keysOf(PREFIX, 'default'));
  closers.push(() => queue.close());
  await until(async () => (await queue.getCompletedCount()) === NOTICES, {
    what: 'all to be done',
    deadlineMs: 20_000,
  });
  return queue.getFailedCount();
}

const ONCE_EACH = Array.from({ length: NOTICES }, () => 1);

it.each([
  ['a moment', false],
  ['longer than the lock', true],
])('an answer is recorded after Redis could not save for %s', async (_name, isLong) => {
  const { server, admin } = await redisWithFailedSave();
  const { emulator, lines } = await sendAll(server.url);
  await refuse(admin, true);
  const answers = () => lines.filter(({ event }) => event === 'attempt').length;
  await until(() => answers() === NOTICES, { what: 'all answers' });
  await until(() => lines.some(({ code }) => code === 'MISCONF'), { what: 'a refusal in the log' });
  const locks = async () => (await admin.keys(keysOf(PREFIX, 'default').noticeLock('*'))).length;
  await until(async () => !isLong || (await locks()) === 0, { what: 'the locks to end' });
  await refuse(admin, false);
  expect(await untilDone(admin)).toBe(0);
  expect([...emulator.contacts()].map(({ count }) => count)).toEqual(ONCE_EACH);
  expect(answers()).toBe(NOTICES);
});

it('a producer gets the reason where Redis cannot save', async () => {
  const { server, admin } = await redisWithFailedSave();
  const queue = new NoticeQueue({ redis: connectionAs('producer', server.url), prefix: PREFIX });
  closers.push(() => queue.close());
  await refuse(admin, true);
  const error: unknown = await queue
    .send({ templateCode: 'T', contacts: [{ contact: '01012345678' }] })
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(NoticeQueueError);
  expect(error).toMatchObject({
    code: 'QUEUE_REFUSED',
    message: expect.stringContaining('cannot write its persistence') as string,
  });
});
