import { EventEmitter } from 'node:events';
import type { Worker } from 'bullmq';
import { describe, expect, it } from 'vitest';
import { AdaptiveConcurrency } from '../../../workers/queue/adaptive-concurrency.ts';

const LEAST = 4;
const MOST = 10;

describe('job slots', () => {
  function begin(least = LEAST, most = MOST) {
    const worker = Object.assign(new EventEmitter(), { concurrency: least });
    const slots = new AdaptiveConcurrency(least, most);
    slots.watch(worker as unknown as Worker);
    const take = (jobs: number, contacts = 1) => {
      for (let job = 0; job < jobs; job++) slots.taken(contacts);
    };
    const free = (jobs: number, contacts = 1) => {
      for (let job = 0; job < jobs; job++) slots.freed(contacts);
    };
    return { worker, slots, take, free };
  }

  it('open in steps, each when the last one is taken, up to the most', () => {
    const { worker, take } = begin();
    take(3);
    expect(worker.concurrency).toBe(4);
    take(1);
    expect(worker.concurrency).toBe(8);
    take(3);
    expect(worker.concurrency).toBe(8);
    take(1);
    expect(worker.concurrency).toBe(MOST);
    take(2);
    expect(worker.concurrency).toBe(MOST);
  });

  it('stay open while jobs wait, so that a job that ends brings the next one along', () => {
    const { worker, take, free } = begin();
    take(8);
    free(8);
    expect(worker.concurrency).toBe(MOST);
  });

  it('close once the queue is dry, and the least are always open beside those in use', () => {
    const { worker, take, free } = begin();
    take(8);
    worker.emit('drained');
    expect(worker.concurrency).toBe(MOST);
    free(3);
    expect(worker.concurrency).toBe(9);
    free(5);
    expect(worker.concurrency).toBe(LEAST);
    take(1);
    worker.emit('drained');
    expect(worker.concurrency).toBe(5);
  });

  it('close when jobs go back, so that a probe need not wait for many fetches', () => {
    const { worker, slots, take, free } = begin();
    take(8);
    slots.ranDry();
    free(8);
    expect(worker.concurrency).toBe(LEAST);
  });

  it('do not open while many contacts are held', () => {
    const { worker, take, free } = begin();
    take(4, 1_000);
    expect(worker.concurrency).toBe(4);
    free(1, 1_000);
    take(1, 1);
    expect(worker.concurrency).toBe(4);
  });

  it('do not move where coalescing is off', () => {
    const { worker, take, free } = begin(LEAST, LEAST);
    take(4);
    expect(worker.concurrency).toBe(LEAST);
    worker.emit('drained');
    free(4);
    expect(worker.concurrency).toBe(LEAST);
  });
});
