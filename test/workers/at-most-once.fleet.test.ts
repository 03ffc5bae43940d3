import type { Queue } from 'bullmq';
import { afterEach, describe, expect, it } from 'vitest';
import type { SendOptions } from '../../src/contracts/send-options.ts';
import { listUnknownNotices, type UnknownNotice } from '../../src/ops/unknown.ts';
import { keysOf, QUEUE_NAME } from '../../src/redis/keys.ts';
import { openBullQueue } from '../../src/redis/open-queue.ts';
import { numbers, startFleet, type Fleet } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';

/** A dead worker's job is found after a second or two. */
const SHORT_LOCK = {
  LOCK_DURATION_MS: '4000',
  STALLED_INTERVAL_MS: '500',
  SEND_DEADLINE_MS: '1900',
  ANSWER_TIMEOUT_MS: '1500',
  CONNECT_TIMEOUT_MS: '300',
  ISSUE_DEADLINE_MS: '1900',
  ATTEMPTS: '2',
  BACKOFF_BASE_MS: '50',
  BACKOFF_CAP_MS: '100',
};

describe('a notice sent at most once', () => {
  const redis = testRedis();
  let fleet: Fleet | undefined;
  let boards: Queue[] = [];

  afterEach(async () => {
    for (const board of boards) await board.close();
    boards = [];
    await fleet?.close();
    fleet = undefined;
  });

  async function begin(env: Readonly<Record<string, string>> = {}) {
    const prefix = redis.freshPrefix();
    const keys = keysOf(prefix, 'default');
    const on = await startFleet({
      redisUrl: redis.url,
      prefix,
      processes: 1,
      env: { ...SHORT_LOCK, ...env },
    });
    fleet = on;
    const board = openBullQueue(QUEUE_NAME, redis.connect({ name: 'board' }), keys);
    boards.push(board);
    const [worker] = on.workers;
    if (worker === undefined) throw new Error('the fleet has no worker');
    const send = async (options: SendOptions = { delivery: 'at-most-once' }) => {
      const [contact = ''] = numbers(1);
      return on.queue.send({ templateCode: 'ONCE', contacts: [{ contact }] }, options);
    };
    const listed = (): Promise<UnknownNotice | undefined> =>
      until(async () => (await listUnknownNotices(redis.client, keys))[0], {
        what: 'the notice to be listed',
        deadlineMs: 30_000,
      });
    return { on, keys, board, worker, send, listed };
  }

  it('whose worker is killed after the service acted is listed, and not sent again', async () => {
    const { on, board, worker, send, listed } = await begin();
    on.emulator.addFault({ on: 'send', hang: 'after-acting', times: 1 });
    const { id } = await send();
    await until(() => on.emulator.record().distinct === 1, { what: 'the service to act' });
    worker.kill('SIGKILL');
    await worker.ended;
    await on.addWorker();
    expect(await listed()).toMatchObject({
      id,
      template: 'ONCE',
      contacts: 1,
      code: 'OUTCOME_UNKNOWN',
      stage: 'begun',
      delivery: 'at-most-once',
    });
    expect(await board.getJobState(id)).toBe('failed');
    expect(on.emulator.record()).toMatchObject({ distinct: 1, twice: 0, requests: 1 });
  }, 60_000);

  it('whose worker is killed before its request is sent later, once', async () => {
    const { on, keys, board, worker, send } = await begin();
    on.emulator.addFault({ on: 'token', hang: 'before-acting', times: 1 });
    const { id } = await send();
    await until(() => on.emulator.faults()[0]?.fired === 1, { what: 'the worker to wait' });
    worker.kill('SIGKILL');
    await worker.ended;
    await on.addWorker();
    await until(async () => (await board.getJobState(id)) === 'completed', {
      what: 'the send',
      deadlineMs: 40_000,
    });
    expect(on.emulator.record()).toMatchObject({ distinct: 1, twice: 0 });
    expect(await listUnknownNotices(redis.client, keys)).toEqual([]);
  }, 60_000);

  it('whose worker froze past its lock in the middle of the request: 0 twice', async () => {
    const { on, worker, send, listed } = await begin();
    on.emulator.addFault({ on: 'send', latencyMs: 600, times: 1 });
    const { id } = await send();
    await until(() => on.emulator.faults()[0]?.fired === 1, { what: 'the request' });
    worker.kill('SIGSTOP');
    await on.addWorker();
    expect(await listed()).toMatchObject({ id, code: 'OUTCOME_UNKNOWN' });
    worker.kill('SIGCONT');
    await until(() => worker.lines.some(({ event }) => event === 'attempt'), {
      what: 'the frozen attempt to end',
    });
    expect(on.emulator.record()).toMatchObject({ distinct: 1, twice: 0, requests: 1 });
  }, 60_000);

  it('whose worker froze before the request: the next worker sends, the frozen one does not', async () => {
    const { on, board, worker, send } = await begin({ TOKEN_LOCK_TTL_MS: '5000' });
    on.emulator.addFault({ on: 'token', latencyMs: 800, times: 1 });
    const { id } = await send();
    await until(() => on.emulator.faults()[0]?.fired === 1, { what: 'the worker to wait' });
    worker.kill('SIGSTOP');
    await on.addWorker();
    await until(async () => (await board.getJobState(id)) === 'completed', {
      what: 'the send',
      deadlineMs: 40_000,
    });
    worker.kill('SIGCONT');
    worker.kill('SIGTERM');
    await worker.ended;
    expect(on.emulator.record()).toMatchObject({ distinct: 1, twice: 0 });
  }, 60_000);

  it('whose answer never came is listed at once, with what was seen', async () => {
    const { on, board, send, listed } = await begin();
    on.emulator.addFault({ on: 'send', hang: 'after-acting', times: 1 });
    const { id } = await send();
    expect(await listed()).toMatchObject({ id, stage: 'sent', delivery: 'at-most-once' });
    expect((await board.getJob(id))?.attemptsMade).toBe(1);
    on.emulator.clearFaults();
    await on.sendEach(numbers(1, 7));
    await until(() => on.emulator.record().distinct === 2, { what: 'another notice' });
    expect(on.emulator.record()).toMatchObject({ twice: 0, requests: 2 });
  }, 60_000);

  it('that provably was not taken is tried again, and its intent goes', async () => {
    const { on, keys, board, send } = await begin();
    on.emulator.addFault({ on: 'send', status: 402, times: 1 });
    const { id } = await send();
    await until(async () => (await board.getJobState(id)) === 'completed', {
      what: 'the send after the hold',
      deadlineMs: 30_000,
    });
    expect(on.emulator.record()).toMatchObject({ distinct: 1, twice: 0 });
    expect(on.emulator.faults()[0]?.fired).toBe(1);
    expect(await listUnknownNotices(redis.client, keys)).toEqual([]);
  }, 60_000);

  it('at-least-once is tried again, and listed when its last attempt ended unknown', async () => {
    const { on, send, listed } = await begin();
    on.emulator.addFault({ on: 'send', status: 500, times: 2 });
    const { id } = await send({});
    expect(await listed()).toMatchObject({ id, stage: 'answered', delivery: 'at-least-once' });
    expect(on.emulator.faults()[0]?.fired).toBe(2);
  }, 60_000);
});
