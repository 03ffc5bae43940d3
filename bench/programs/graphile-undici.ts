/** graphile-worker and undici. */
import { run } from 'graphile-worker';
import { CONCURRENCY } from '../work.ts';
import { places } from './tell.ts';
import { undiciSender } from './undici-sender.ts';

const { store, service, chunks } = places();
/** Jobs that are fetched at once; a chunk takes some 80 kB. */
const SIZE = chunks ? 100 : 500;
const send = await undiciSender(service);

await run({
  connectionString: store,
  noHandleSignals: true,
  preset: { worker: { concurrentJobs: CONCURRENCY, maxPoolSize: 20, localQueue: { size: SIZE } } },
  taskList: { bare: (payload) => send(payload) },
});
