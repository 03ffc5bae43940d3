/** (b) BullMQ and axios as a user would write it, and would be right to: the usual forty lines. */
import { Agent } from 'node:http';
import { create } from 'axios';
import axiosRetry from 'axios-retry';
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { Notice } from '../../src/contracts/notice.ts';
import { CONCURRENCY } from '../work.ts';
import { places } from './tell.ts';

const { store, service } = places();
const http = create({
  baseURL: service,
  httpAgent: new Agent({ keepAlive: true }),
  timeout: 10_000,
});
axiosRetry(http, { retries: 3, retryDelay: (count) => 100 * 2 ** count });

let token: Promise<string> | undefined;
async function issueToken(): Promise<string> {
  const auth = { username: 'emulator-access-key', password: 'emulator-secret-key' };
  const answer = await http.post<{ data: { token: string } }>('/api/v2/token', undefined, { auth });
  return answer.data.data.token;
}

async function send(notice: Notice, again = true): Promise<void> {
  const bearer = await (token ??= issueToken());
  const { status } = await http.post('/api/v2/notices/send', notice, {
    headers: { Authorization: `Bearer ${bearer}` },
    validateStatus: (status) => status < 300 || status === 401,
  });
  if (status !== 401) return;
  token = undefined;
  if (!again) throw new Error('the token was refused twice');
  await send(notice, false);
}

const worker = new Worker<Notice>('bare', (job) => send(job.data), {
  connection: new Redis(store, { maxRetriesPerRequest: null }),
  concurrency: CONCURRENCY,
  removeOnComplete: { count: 1_000 },
});
worker.on('error', (error) => console.error(error.message));
