import { EventEmitter } from 'node:events';
import type { Job } from 'bullmq';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { JobLocks } from '../../../workers/queue/send-worker.ts';
import type { SendWorker } from '../../../workers/queue/send-job.ts';

const LOCK_MS = 10_000;

describe('JobLocks', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance', 'Date'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const job = (id: string, fetchedMsAgo = 0) =>
    ({ id, processedOn: Date.now() - fetchedMsAgo }) as Job;

  const fakeWorker = () => Object.assign(new EventEmitter(), { renewalSentAt: 0 });

  it('a job that was just fetched is owned for half of the lock', () => {
    const lock = new JobLocks(LOCK_MS).of(job('a'));
    expect(lock.valid()).toBe(true);
    vi.advanceTimersByTime(4_999);
    expect(lock.valid()).toBe(true);
    vi.advanceTimersByTime(1);
    expect(lock.valid()).toBe(false);
  });

  it('a renewal counts anew, for the jobs it names and no others', () => {
    const locks = new JobLocks(LOCK_MS);
    const worker = fakeWorker();
    locks.watch(worker as unknown as SendWorker);
    const [a, b] = [locks.of(job('a')), locks.of(job('b'))];
    vi.advanceTimersByTime(4_000);
    worker.renewalSentAt = performance.now();
    worker.emit('locksRenewed', { count: 1, jobIds: ['a', 'unknown'] });
    vi.advanceTimersByTime(4_000);
    expect([a.valid(), b.valid()]).toEqual([true, false]);
  });

  it('a renewal counts from its request, however late the reply is', () => {
    const locks = new JobLocks(LOCK_MS);
    const worker = fakeWorker();
    locks.watch(worker as unknown as SendWorker);
    const lock = locks.of(job('a'));
    vi.advanceTimersByTime(1_000);
    worker.renewalSentAt = performance.now();
    vi.advanceTimersByTime(4_500);
    worker.emit('locksRenewed', { count: 1, jobIds: ['a'] });
    expect(lock.valid()).toBe(true);
    vi.advanceTimersByTime(500);
    expect(lock.valid()).toBe(false);
  });

  it('a job whose renewal failed is not owned any more, however young, and the others still are', () => {
    const locks = new JobLocks(LOCK_MS);
    const worker = fakeWorker();
    locks.watch(worker as unknown as SendWorker);
    const [a, b] = [locks.of(job('a')), locks.of(job('b'))];
    worker.emit('lockRenewalFailed', ['a', 'unknown']);
    expect([a.valid(), b.valid()]).toEqual([false, true]);
  });

  it('a run that has lost its lock stays so when this process fetches the job again', () => {
    const locks = new JobLocks(LOCK_MS);
    const worker = fakeWorker();
    locks.watch(worker as unknown as SendWorker);
    const first = locks.of(job('a'));
    worker.emit('lockRenewalFailed', ['a']);
    const second = locks.of(job('a'));
    expect([first.valid(), second.valid()]).toEqual([false, true]);
    first.release();
    vi.advanceTimersByTime(4_000);
    worker.renewalSentAt = performance.now();
    worker.emit('locksRenewed', { count: 1, jobIds: ['a'] });
    vi.advanceTimersByTime(4_000);
    expect([first.valid(), second.valid()]).toEqual([false, true]);
  });
});
