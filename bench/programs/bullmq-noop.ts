/** A bare BullMQ worker whose processor does nothing; says when it has done so many jobs. */
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { CONCURRENCY } from '../work.ts';
import { tell } from './tell.ts';

const [store = '', total] = process.argv.slice(2);
let done = 0;
const processor = () => {
  done += 1;
  if (done === Number(total)) tell({ reached: done });
  return Promise.resolve();
};
const worker = new Worker('bare', processor, {
  connection: new Redis(store, { maxRetriesPerRequest: null }),
  concurrency: CONCURRENCY,
});
worker.on('error', (error) => console.error(error.message));
