import { createRequire } from 'node:module';

/** What the bench uses of bee-queue; its own types stand on those of a client we do not have. */
export interface BeeQueue {
  createJob(data: object): object;
  saveAll(jobs: readonly object[]): Promise<Map<object, Error>>;
  process(concurrency: number, run: (job: { data: never }) => Promise<void>): void;
  close(): Promise<void>;
}
type Constructor = new (name: string, settings: object) => BeeQueue;

const Queue = createRequire(import.meta.url)('bee-queue') as Constructor;

/** @param worker whether it takes jobs, too */
export function openBeeQueue(url: string, worker: boolean): BeeQueue {
  return new Queue('bare', {
    redis: { url },
    isWorker: worker,
    getEvents: false,
    sendEvents: false,
    storeJobs: false,
    removeOnSuccess: true,
  });
}
