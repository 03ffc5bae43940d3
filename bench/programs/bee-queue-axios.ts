/** (f) bee-queue and axios. */
import { Agent } from 'node:http';
import { create } from 'axios';
import type { Notice } from '../../src/contracts/notice.ts';
import { openBeeQueue } from '../harness/bee-queue.ts';
import { CONCURRENCY } from '../work.ts';
import { places } from './tell.ts';

const { store, service } = places();
const http = create({
  baseURL: service,
  httpAgent: new Agent({ keepAlive: true }),
  timeout: 10_000,
});
const auth = { username: 'emulator-access-key', password: 'emulator-secret-key' };
const issued = await http.post<{ data: { token: string } }>('/api/v2/token', undefined, { auth });
const headers = { Authorization: `Bearer ${issued.data.data.token}` };

const queue = openBeeQueue(store, true);
queue.process(CONCURRENCY, async ({ data }: { data: Notice }) => {
  await http.post('/api/v2/notices/send', data, { headers });
});
