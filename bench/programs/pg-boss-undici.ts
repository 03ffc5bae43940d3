/** pg-boss and undici: several workers, each with a batch at a time. */
import PgBoss from 'pg-boss';
import { places } from './tell.ts';
import { undiciSender } from './undici-sender.ts';

const { store, service, chunks } = places();
/** Jobs of one fetch, half a second apart at least: with fewer the polling is the limit. */
const BATCH = chunks ? 125 : 500;
const WORKERS = 4;

const send = await undiciSender(service);
const boss = new PgBoss({ connectionString: store, supervise: false, schedule: false });
boss.on('error', (error) => console.error(error.message));
await boss.start();
for (let worker = 0; worker < WORKERS; worker++) {
  await boss.work('bare', { batchSize: BATCH, pollingIntervalSeconds: 0.5 }, async (jobs) => {
    await Promise.all(jobs.map(({ data }) => send(data)));
  });
}
