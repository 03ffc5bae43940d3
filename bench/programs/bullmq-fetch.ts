/** BullMQ and a client library over Node's own fetch. */
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { Notice } from '../../src/contracts/notice.ts';
import { CONCURRENCY } from '../work.ts';
import { NoticeClient, overFetch } from './client-library.ts';
import { places } from './tell.ts';

const { store, service } = places();
const pair = ['emulator-access-key', 'emulator-secret-key'] as const;
const client = new NoticeClient(service, ...pair, overFetch);

const worker = new Worker<Notice>('bare', (job) => client.send(job.data), {
  connection: new Redis(store, { maxRetriesPerRequest: null }),
  concurrency: CONCURRENCY,
  removeOnComplete: { count: 1_000 },
});
worker.on('error', (error) => console.error(error.message));
