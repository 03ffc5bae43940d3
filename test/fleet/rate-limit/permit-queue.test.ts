import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LaneName } from '../../../src/contracts/outcome.ts';
import { REACH_MS } from '../../../src/fleet/rate-limit/rate-limit-scripts.ts';
import {
  PERMIT_LASTS_MS,
  PermitQueue,
  type Permit,
} from '../../../src/fleet/rate-limit/permit-queue.ts';

/** In one process and by its clock; with Redis: rate-limiter.integration.test.ts. */
describe('PermitQueue', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function bench() {
    const seen = { empty: 0, used: 0, ends: [] as string[] };
    const queue = new PermitQueue(
      () => (seen.empty += 1),
      () => (seen.used += 1),
    );
    const abort = new AbortController();
    /** Joins, and records under the name whether it got a permit. */
    const join = (name: string, lane: LaneName = 'notices', signal = abort.signal) =>
      queue.join(lane, signal).then((permit) => {
        seen.ends.push(permit?.use() === true ? name : `${name} rejected`);
      });
    return { queue, seen, abort, join };
  }

  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

  it('asks for permits when a job waits, and assigns each one when its time has come', async () => {
    const { queue, seen, join } = bench();
    for (const name of ['a', 'b', 'c']) void join(name);
    expect(seen.empty).toBeGreaterThan(0);
    queue.add({ firstInMs: 50, gapMs: 100, count: 3 });
    await pass(49);
    expect(seen.ends).toEqual([]);
    await pass(1);
    expect(seen.ends).toEqual(['a']);
    await pass(100);
    expect(seen.ends).toEqual(['a', 'b']);
    await pass(100);
    expect(seen.ends).toEqual(['a', 'b', 'c']);
    expect(seen.used).toBe(3);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('does not ask while permits are left, and asks when all are assigned', async () => {
    const { queue, seen, join } = bench();
    for (const name of ['a', 'b', 'c']) void join(name);
    const asked = seen.empty;
    queue.add({ firstInMs: 0, gapMs: 100, count: 2 });
    void join('d');
    expect(seen.empty).toBe(asked);
    await pass(100);
    expect(seen.ends).toEqual(['a', 'b']);
    expect(seen.empty).toBeGreaterThan(asked);
  });

  it('a permit that is not used in time expires', async () => {
    const { queue, seen, join } = bench();
    queue.add({ firstInMs: 0, gapMs: 1, count: 1 });
    await pass(PERMIT_LASTS_MS + 1);
    void join('a');
    await pass(0);
    expect(seen.ends).toEqual([]);
    expect(seen.empty).toBe(1);
  });

  it('a permit is used once, and not after it has expired', async () => {
    const { queue, seen, abort } = bench();
    queue.add({ firstInMs: 0, gapMs: 1, count: 2 });
    const joined = [0, 1].map(() => queue.join('notices', abort.signal));
    await pass(1);
    const [one, other] = await Promise.all(joined);
    expect([one?.use(), one?.use()]).toEqual([true, false]);
    await pass(PERMIT_LASTS_MS + 2);
    expect(other?.use()).toBe(false);
    expect(seen.used).toBe(1);
  });

  it('a released permit goes to the next waiter; a used one does not', async () => {
    const { queue, seen, abort, join } = bench();
    queue.add({ firstInMs: 0, gapMs: 1, count: 1 });
    const permit = (await queue.join('notices', abort.signal)) as Permit;
    void join('a');
    await pass(10);
    permit.release();
    permit.release();
    expect(permit.use()).toBe(false);
    await pass(0);
    expect(seen.ends).toEqual(['a']);
  });

  it('a released permit keeps its expiry', async () => {
    const { queue, seen, abort, join } = bench();
    queue.add({ firstInMs: 0, gapMs: 1, count: 1 });
    const permit = await queue.join('notices', abort.signal);
    await pass(PERMIT_LASTS_MS - 50);
    permit?.release();
    await pass(51);
    void join('a');
    await pass(0);
    expect(seen.ends).toEqual([]);
    expect(seen.used).toBe(0);
  });

  it('the lanes take turns', async () => {
    const { queue, seen, join } = bench();
    for (const name of ['c1', 'c2', 'c3', 'c4']) void join(name, 'chunks');
    for (const name of ['n1', 'n2']) void join(name, 'notices');
    queue.add({ firstInMs: 0, gapMs: 10, count: 6 });
    await pass(60);
    expect(seen.ends).toEqual(['n1', 'c1', 'n2', 'c2', 'c3', 'c4']);
  });

  it('rejects a waiter after the time for which permits are issued ahead', async () => {
    const { seen, join } = bench();
    void join('a');
    await pass(REACH_MS / 2);
    void join('b', 'chunks');
    await pass(REACH_MS / 2);
    expect(seen.ends).toEqual(['a rejected']);
    await pass(REACH_MS / 2);
    expect(seen.ends).toEqual(['a rejected', 'b rejected']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('does not reject a waiter that has a permit ahead', async () => {
    const { queue, seen, join } = bench();
    for (const name of ['a', 'b']) void join(name);
    await pass(REACH_MS - 10);
    queue.add({ firstInMs: 500, gapMs: 1, count: 1 });
    await pass(10);
    expect(seen.ends).toEqual(['a rejected']);
    await pass(490);
    expect(seen.ends).toEqual(['a rejected', 'b']);
  });

  it('a cancelled wait ends at once, and only that one', async () => {
    const { queue, seen, join } = bench();
    const lost = new AbortController();
    void join('a', 'notices', lost.signal);
    void join('b');
    lost.abort();
    await pass(0);
    expect(seen.ends).toEqual(['a rejected']);
    queue.add({ firstInMs: 0, gapMs: 1, count: 1 });
    await pass(0);
    expect(seen.ends).toEqual(['a rejected', 'b']);
    void join('c', 'notices', lost.signal);
    await pass(0);
    expect(seen.ends).toEqual(['a rejected', 'b', 'c rejected']);
  });

  it('rejects all waiters, or admits all, at once', async () => {
    const { queue, seen, join } = bench();
    void join('a');
    void join('b', 'chunks');
    queue.rejectAll();
    await pass(0);
    expect(seen.ends.toSorted()).toEqual(['a rejected', 'b rejected']);
    void join('c');
    void join('d', 'chunks');
    queue.admitAll();
    await pass(0);
    expect(seen.ends.slice(2).toSorted()).toEqual(['c', 'd']);
    expect(vi.getTimerCount()).toBe(0);
  });
});
