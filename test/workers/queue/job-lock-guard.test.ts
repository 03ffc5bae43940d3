import { EventEmitter } from 'node:events';
import type { Job } from 'bullmq';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { JobLockGuard } from '../../../workers/queue/job-lock-guard.ts';
import type { SendWorker } from '../../../workers/queue/send-job.ts';

const LOCK_MS = 10_000;

describe('JobLockGuard', () => {
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
    const guard = new JobLockGuard(LOCK_MS).guard(job('a'));
    expect(guard.owned()).toBe(true);
    vi.advanceTimersByTime(4_999);
    expect(guard.owned()).toBe(true);
    vi.advanceTimersByTime(1);
    expect(guard.owned()).toBe(false);
  });

  it('a job that lay about after its fetch has used up that time', () => {
    expect(new JobLockGuard(LOCK_MS).guard(job('a', 5_001)).owned()).toBe(false);
  });

  it('a renewal counts anew, for the jobs it names and no others', () => {
    const fence = new JobLockGuard(LOCK_MS);
    const worker = fakeWorker();
    fence.watch(worker as unknown as SendWorker);
    const [a, b] = [fence.guard(job('a')), fence.guard(job('b'))];
    vi.advanceTimersByTime(4_000);
    worker.renewalSentAt = performance.now();
    worker.emit('locksRenewed', { count: 1, jobIds: ['a', 'unknown'] });
    vi.advanceTimersByTime(4_000);
    expect([a.owned(), b.owned()]).toEqual([true, false]);
  });

  it('a renewal counts from its request, however late the reply is', () => {
    const fence = new JobLockGuard(LOCK_MS);
    const worker = fakeWorker();
    fence.watch(worker as unknown as SendWorker);
    const guard = fence.guard(job('a'));
    vi.advanceTimersByTime(1_000);
    worker.renewalSentAt = performance.now();
    vi.advanceTimersByTime(4_500);
    worker.emit('locksRenewed', { count: 1, jobIds: ['a'] });
    expect(guard.owned()).toBe(true);
    vi.advanceTimersByTime(500);
    expect(guard.owned()).toBe(false);
  });

  it('a job whose renewal failed is not owned any more, however young, and the others still are', () => {
    const fence = new JobLockGuard(LOCK_MS);
    const worker = fakeWorker();
    fence.watch(worker as unknown as SendWorker);
    const [a, b] = [fence.guard(job('a')), fence.guard(job('b'))];
    worker.emit('lockRenewalFailed', ['a', 'unknown']);
    expect([a.owned(), b.owned()]).toEqual([false, true]);
  });

  it('a wall clock that is set back does not lengthen it', () => {
    const guard = new JobLockGuard(LOCK_MS).guard(job('a'));
    vi.advanceTimersByTime(6_000);
    vi.setSystemTime(Date.now() - 3_600_000);
    expect(guard.owned()).toBe(false);
  });

  it('a run that has lost its lock stays so when this process fetches the job again', () => {
    const fence = new JobLockGuard(LOCK_MS);
    const worker = fakeWorker();
    fence.watch(worker as unknown as SendWorker);
    const first = fence.guard(job('a'));
    worker.emit('lockRenewalFailed', ['a']);
    const second = fence.guard(job('a'));
    expect([first.owned(), second.owned()]).toEqual([false, true]);
    first.release();
    vi.advanceTimersByTime(4_000);
    worker.renewalSentAt = performance.now();
    worker.emit('locksRenewed', { count: 1, jobIds: ['a'] });
    vi.advanceTimersByTime(4_000);
    expect([first.owned(), second.owned()]).toEqual([false, true]);
  });

  it('a job released and fetched again starts anew', () => {
    const fence = new JobLockGuard(LOCK_MS);
    const first = fence.guard(job('a'));
    vi.advanceTimersByTime(6_000);
    first.release();
    expect(fence.guard(job('a')).owned()).toBe(true);
  });
});
