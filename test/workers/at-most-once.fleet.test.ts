import { describe, expect, it } from 'vitest';
import { listUnknownNotices } from '../../src/ops/unknown.ts';
import { numbers } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { atMostOnceFleet } from './support/at-most-once.ts';

describe('a notice sent at most once', () => {
  const { redis, begin } = atMostOnceFleet();

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
    expect(await listUnknownNotices({ redis: redis.client, keys })).toEqual([]);
  }, 60_000);

  it('whose answer never came is listed at once, with what was seen', async () => {
    const { on, send, listed } = await begin();
    on.emulator.addFault({ on: 'send', hang: 'after-acting', times: 1 });
    const { id } = await send();
    expect(await listed()).toMatchObject({ id, stage: 'sent', delivery: 'at-most-once' });
    expect(on.attempts()).toMatchObject([{ job: id, attempt: 1, outcome: 'unknown' }]);
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
    expect(await listUnknownNotices({ redis: redis.client, keys })).toEqual([]);
  }, 60_000);
});
