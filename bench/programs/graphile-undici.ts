/** graphile-worker and undici. */
import { run } from 'graphile-worker';
import { CONCURRENCY } from '../work.ts';
import { places } from './tell.ts';
import { undiciSender } from './undici-sender.ts';

const { store, service } = places();
const send = await undiciSender(service);

await run({
  connectionString: store,
  noHandleSignals: true,
  preset: { worker: { concurrentJobs: CONCURRENCY, maxPoolSize: 20, localQueue: { size: 500 } } },
  taskList: { bare: (payload) => send(payload) },
});
