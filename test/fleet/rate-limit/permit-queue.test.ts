import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { REACH_MS } from '../../../src/fleet/rate-limit/rate-limit-scripts.ts';
import {
  PERMIT_LASTS_MS,
  PermitQueue,
  type LaneName,
  type Permit,
} from '../../../src/fleet/rate-limit/permit-queue.ts';

/** In one process and by its clock; what Redis says is in pacer.test.ts. */
describe('PermitQueue', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function bench() {
    const seen = { wants: 0, used: 0, ends: [] as string[] };
    const line = new PermitQueue(
      () => (seen.wants += 1),
      () => (seen.used += 1),
    );
    const abort = new AbortController();
    /** Joins; what becomes of it is noted under its name. */
    const join = (name: string, lane: LaneName = 'notices', signal = abort.signal) =>
      line.join(lane, signal).then((slot) => {
        seen.ends.push(slot?.use() === true ? name : `${name} away`);
      });
    return { line, seen, abort, join };
  }

  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

  it('asks for slots when somebody waits, and deals each one in its time', async () => {
    const { line, seen, join } = bench();
    for (const name of ['a', 'b', 'c']) void join(name);
    expect(seen.wants).toBeGreaterThan(0);
    line.stock({ firstInMs: 50, gapMs: 100, count: 3 });
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

  it('does not ask while slots are left, and asks when they are dealt', async () => {
    const { line, seen, join } = bench();
    for (const name of ['a', 'b', 'c']) void join(name);
    const asked = seen.wants;
    line.stock({ firstInMs: 0, gapMs: 100, count: 2 });
    void join('d');
    expect(seen.wants).toBe(asked);
    await pass(100);
    expect(seen.ends).toEqual(['a', 'b']);
    expect(seen.wants).toBeGreaterThan(asked);
  });

  it('a slot that nobody used in time is gone', async () => {
    const { line, seen, join } = bench();
    line.stock({ firstInMs: 0, gapMs: 1, count: 1 });
    await pass(PERMIT_LASTS_MS + 1);
    void join('a');
    await pass(0);
    expect(seen.ends).toEqual([]);
    expect(seen.wants).toBe(1);
  });

  it('a slot is used once, and not when it has become too old', async () => {
    const { line, seen, abort } = bench();
    line.stock({ firstInMs: 0, gapMs: 1, count: 2 });
    const joined = [0, 1].map(() => line.join('notices', abort.signal));
    await pass(1);
    const [one, other] = await Promise.all(joined);
    expect([one?.use(), one?.use()]).toEqual([true, false]);
    await pass(PERMIT_LASTS_MS + 2);
    expect(other?.use()).toBe(false);
    expect(seen.used).toBe(1);
  });

  it('a slot given back goes to whoever waits; one that was used does not', async () => {
    const { line, seen, abort, join } = bench();
    line.stock({ firstInMs: 0, gapMs: 1, count: 1 });
    const slot = (await line.join('notices', abort.signal)) as Permit;
    void join('a');
    await pass(10);
    slot.release();
    slot.release();
    expect(slot.use()).toBe(false);
    await pass(0);
    expect(seen.ends).toEqual(['a']);
  });

  it('a slot given back keeps its first end', async () => {
    const { line, seen, abort, join } = bench();
    line.stock({ firstInMs: 0, gapMs: 1, count: 1 });
    const slot = await line.join('notices', abort.signal);
    await pass(PERMIT_LASTS_MS - 50);
    slot?.release();
    await pass(51);
    void join('a');
    await pass(0);
    expect(seen.ends).toEqual([]);
    expect(seen.used).toBe(0);
  });

  it('both lanes take turns', async () => {
    const { line, seen, join } = bench();
    for (const name of ['c1', 'c2', 'c3', 'c4']) void join(name, 'chunks');
    for (const name of ['n1', 'n2']) void join(name, 'notices');
    line.stock({ firstInMs: 0, gapMs: 10, count: 6 });
    await pass(60);
    expect(seen.ends).toEqual(['n1', 'c1', 'n2', 'c2', 'c3', 'c4']);
  });

  it('turns away who has waited for as long as a slot may lie ahead', async () => {
    const { seen, join } = bench();
    void join('a');
    await pass(REACH_MS / 2);
    void join('b', 'chunks');
    await pass(REACH_MS / 2);
    expect(seen.ends).toEqual(['a away']);
    await pass(REACH_MS / 2);
    expect(seen.ends).toEqual(['a away', 'b away']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('who has a slot in sight is not turned away', async () => {
    const { line, seen, join } = bench();
    for (const name of ['a', 'b']) void join(name);
    await pass(REACH_MS - 10);
    line.stock({ firstInMs: 500, gapMs: 1, count: 1 });
    await pass(10);
    expect(seen.ends).toEqual(['a away']);
    await pass(490);
    expect(seen.ends).toEqual(['a away', 'b']);
  });

  it('an abort ends the wait at once, and only that one', async () => {
    const { line, seen, join } = bench();
    const lost = new AbortController();
    void join('a', 'notices', lost.signal);
    void join('b');
    lost.abort();
    await pass(0);
    expect(seen.ends).toEqual(['a away']);
    line.stock({ firstInMs: 0, gapMs: 1, count: 1 });
    await pass(0);
    expect(seen.ends).toEqual(['a away', 'b']);
    void join('c', 'notices', lost.signal);
    await pass(0);
    expect(seen.ends).toEqual(['a away', 'b', 'c away']);
  });

  it('turns all away, or lets all go, at once', async () => {
    const { line, seen, join } = bench();
    void join('a');
    void join('b', 'chunks');
    line.turnAway();
    await pass(0);
    expect(seen.ends.toSorted()).toEqual(['a away', 'b away']);
    void join('c');
    void join('d', 'chunks');
    line.letAllGo();
    await pass(0);
    expect(seen.ends.slice(2).toSorted()).toEqual(['c', 'd']);
    expect(vi.getTimerCount()).toBe(0);
  });
});
