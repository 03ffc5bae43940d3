/** BullMQ with encrypted jobs and one pino line for each notice, over undici or axios. */
import { Agent } from 'node:http';
import { create } from 'axios';
import axiosRetry from 'axios-retry';
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { destination, pino } from 'pino';
import { CONCURRENCY } from '../work.ts';
import { openNotice, type SealedNotice } from './sealed-notice.ts';
import { places } from './tell.ts';
import { undiciSender } from './undici-sender.ts';

const { store, service } = places();
const [, client = ''] = process.argv.slice(4);
const log = pino(destination({ dest: 1, sync: false }));

async function axiosSender(): Promise<(notice: unknown) => Promise<void>> {
  const httpAgent = new Agent({ keepAlive: true });
  const http = create({ baseURL: service, httpAgent, timeout: 10_000 });
  axiosRetry(http, { retries: 3, retryDelay: (count) => 100 * 2 ** count });
  const auth = { username: 'emulator-access-key', password: 'emulator-secret-key' };
  const issued = await http.post<{ data: { token: string } }>('/api/v2/token', undefined, { auth });
  const headers = { Authorization: `Bearer ${issued.data.data.token}` };
  return async (notice) => void (await http.post('/api/v2/notices/send', notice, { headers }));
}

const send = await (client === 'axios' ? axiosSender() : undiciSender(service));

const worker = new Worker<SealedNotice>(
  'bare',
  async ({ id, data, attemptsMade }) => {
    const startedAt = performance.now();
    const notice = openNotice(data);
    await send(notice);
    const { templateCode, contacts } = notice;
    const durationMs = Math.round(performance.now() - startedAt);
    log.info({ id, templateCode, contacts: contacts.length, attemptsMade, durationMs }, 'accepted');
  },
  {
    connection: new Redis(store, { maxRetriesPerRequest: null }),
    concurrency: CONCURRENCY,
    removeOnComplete: { count: 1_000 },
  },
);
worker.on('error', (error) => console.error(error.message));
