import { hostname } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmulator, type Emulator } from '../../../src/emulator/emulator.ts';
import { NoticeQueue } from '../../../src/index.ts';
import type { Status } from '../../../src/ops/status.ts';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';
import { EVERY_RIGHT, connectionAs } from '../../support/redis-users.ts';
import { startProcess } from '../support/process.ts';
import { errorOf, run, type Env } from '../support/run.ts';
import { ownRedis } from '../../support/own-redis.ts';
import { serviceEnv } from '../../emulator/running.ts';
import { bullQueue } from '../../support/bull-queue.ts';

const redis = testRedis();
const envOf = (prefix: string): Env => ({ REDIS_URL: redis.url, REDIS_PREFIX: prefix });
const NOTICE = { templateCode: 'T', contacts: [{ contact: '01098765432' }] };

async function statusOf(env: Env): Promise<Status> {
  const { code, stdout, stderr } = await run(['status', '--json'], env);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as Status;
}

describe('notices status', () => {
  it('with nothing there: all is zero, and nothing is written', async () => {
    const prefix = redis.freshPrefix();
    const env = { ...envOf(prefix), ...EVERY_RIGHT };
    const status = await statusOf(env);
    expect(status).toMatchObject({
      headline: { tone: 'warn', title: 'No worker', command: 'notices worker' },
      jobs: { waiting: 0, active: 0, delayed: 0, done: 0, failed: 0 },
      batches: { pending: 0, open: 0, openBatches: [], rejected: 0, refused: [], unknown: 0 },
      unknown: { notices: 0, contacts: 0 },
      workers: [],
    });
    const { host } = new URL(redis.url);
    expect(status.redis).toMatchObject({
      policy: 'noeviction',
      persistence: 'none',
      address: host,
    });
    const words = await run('status', env);
    expect(words.stdout).toContain(`prefix ${prefix}, Redis at ${host}\n`);
    for (const line of [
      /^waiting +0$/m,
      /^batches +0 open, 0 contacts pending$/m,
      /^unknown +none$/m,
      /^token +not shown: no worker runs$/m,
      /^hold +none$/m,
      /^workers +none: nothing is being sent$/m,
      /^redis +\S+, noeviction, nothing on disk, [\d.]+ MiB$/m,
      /^ {2}warning: Redis keeps nothing on disk.*appendonly/m,
    ]) {
      expect(words.stdout).toMatch(line);
    }
    expect(await redis.keys(prefix)).toEqual([]);
  });

  it('what is unknown has not failed', async () => {
    const { prefix, keys } = redis.account();
    await redis.client.zadd(keys.endedIn('unknown'), 1, 'n-1', 2, 'n-2');
    await redis.client.zadd(keys.endedIn('rejected'), 1, 'n-3');
    const { jobs, unknown } = await statusOf(envOf(prefix));
    expect([jobs.failed, unknown.notices]).toEqual([1, 2]);
  });

  it('the intended delay of a notice that is due does not count as waiting', async () => {
    const prefix = redis.freshPrefix();
    const queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
    const { id } = await queue.send(NOTICE, { delay: 3_600_000 });
    await queue.close();
    const board = bullQueue(QUEUE_NAME, redis.client, keysOf(prefix, 'default'));
    const job = await board.getJob(id);
    // As if it had been queued an hour and five seconds ago.
    await redis.client.hset(board.toKey(id), 'timestamp', (job?.timestamp ?? 0) - 3_605_000);
    await job?.promote();
    const status = await statusOf(envOf(prefix));
    expect(status.jobs).toMatchObject({ waiting: 1, delayed: 0 });
    expect(status.oldestWaitingMs).toBeGreaterThanOrEqual(5_000);
    expect(status.oldestWaitingMs).toBeLessThan(300_000);
  });

  it('a wrong password: exit code 3, and says so', async () => {
    const { url } = await ownRedis({ args: ['--requirepass', 'right'] });
    const env = { REDIS_URL: url, REDIS_PASSWORD: 'CANARY-wrong' };
    const ended = await run(['status', '--json'], env);
    expect([ended.code, errorOf(ended).code]).toEqual([3, 'QUEUE_REFUSED']);
    expect(ended.stderr).toContain('password');
    expect(ended.stderr).not.toContain('CANARY');
  });
});

describe('notices status --worker', () => {
  let emulator: Emulator;
  beforeAll(async () => {
    emulator = await startEmulator();
  });
  afterAll(() => emulator.close());

  it('0 with a live worker on that host, 1 on another and after it has stopped', async () => {
    const env = {
      ...envOf(redis.freshPrefix()),
      ...serviceEnv(emulator.url),
    };
    const check = (host: string) => run(['status', '--worker', host], env);
    expect((await check(hostname())).code).toBe(1);
    const worker = startProcess(['worker'], env);
    await worker.says(/"event":"started"/);
    expect((await check(hostname())).code).toBe(0);
    expect((await check('another-host')).code).toBe(1);
    const words = await run(['status'], env);
    expect(words.stdout).toMatch(/^workers +1$/m);
    expect(words.stdout).toContain(`${hostname()} pid ${worker.child.pid}: 0 of `);
    worker.stop('SIGTERM');
    expect((await worker.ended).code).toBe(0);
    expect((await check(hostname())).code).toBe(1);
  });
});
