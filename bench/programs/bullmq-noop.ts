/** (a) A bare BullMQ worker whose processor does nothing. */
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { CONCURRENCY } from '../work.ts';
import { counter, places } from './tell.ts';

const totals = process.argv.slice(4).map(Number);
const count = counter(totals);
const worker = new Worker('bare', () => Promise.resolve(count()), {
  connection: new Redis(places().store, { maxRetriesPerRequest: null }),
  concurrency: CONCURRENCY,
});
worker.on('error', (error) => console.error(error.message));
