import { EventEmitter } from 'node:events';
import type { Job } from 'bullmq';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SendWorker } from '../../../workers/queue/send-job.ts';
import { JobLocks } from '../../../workers/queue/send-worker.ts';

describe('the lock of a job, which lasts for ten seconds', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance', 'Date'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function start() {
    const locks = new JobLocks(10_000);
    const worker = Object.assign(new EventEmitter(), { renewalSentAt: 0 });
    locks.watch(worker as unknown as SendWorker);
    const lockOf = (id: string) => locks.of({ id, processedOn: Date.now() } as Job);
    const renew = (afterMs = 0) => {
      worker.renewalSentAt = performance.now();
      vi.advanceTimersByTime(afterMs);
      worker.emit('locksRenewed', { count: 1, jobIds: ['a', 'unknown'] });
    };
    const fail = () => worker.emit('lockRenewalFailed', ['a', 'unknown']);
    return { lockOf, renew, fail };
  }

  it('is owned for half of that after the fetch, and after each renewal of its own', () => {
    const { lockOf, renew } = start();
    const [a, b] = [lockOf('a'), lockOf('b')];
    vi.advanceTimersByTime(4_999);
    expect([a.valid(), b.valid()]).toEqual([true, true]);
    renew();
    vi.advanceTimersByTime(1);
    expect([a.valid(), b.valid()]).toEqual([true, false]);
  });

  it('counts from the request of the renewal, however late the reply is', () => {
    const { lockOf, renew } = start();
    const lock = lockOf('a');
    vi.advanceTimersByTime(1_000);
    renew(4_500);
    expect(lock.valid()).toBe(true);
    vi.advanceTimersByTime(500);
    expect(lock.valid()).toBe(false);
  });

  it('is lost with a renewal that failed, also when this process fetches the job again', () => {
    const { lockOf, renew, fail } = start();
    const [first, other] = [lockOf('a'), lockOf('b')];
    fail();
    const second = lockOf('a');
    expect([first.valid(), other.valid(), second.valid()]).toEqual([false, true, true]);
    first.release();
    vi.advanceTimersByTime(4_000);
    renew(4_000);
    expect([first.valid(), second.valid()]).toEqual([false, true]);
  });
});
