/** BullMQ and undici as an engineer writes it who wants speed: the usual forty lines. */
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { Pool } from 'undici';
import type { Notice } from '../../src/contracts/notice.ts';
import { CONCURRENCY } from '../work.ts';
import { places } from './tell.ts';

const { store, service } = places();
const pool = new Pool(service, { connections: CONCURRENCY, headersTimeout: 10_000 });

async function post(path: string, authorization: string, body: string) {
  const headers = { authorization, 'content-type': 'application/json' };
  const { statusCode, body: answer } = await pool.request({ path, method: 'POST', headers, body });
  return { status: statusCode, text: await answer.text() };
}

let token: Promise<string> | undefined;
async function issueToken(): Promise<string> {
  const pair = Buffer.from('emulator-access-key:emulator-secret-key').toString('base64');
  const { text } = await post('/api/v2/token', `Basic ${pair}`, '');
  return (JSON.parse(text) as { data: { token: string } }).data.token;
}

async function send(notice: Notice, again = true): Promise<void> {
  const bearer = await (token ??= issueToken());
  const body = JSON.stringify(notice);
  const { status } = await post('/api/v2/notices/send', `Bearer ${bearer}`, body);
  if (status < 300) return;
  if (status !== 401 || !again) throw new Error(`HTTP ${status}`);
  token = undefined;
  await send(notice, false);
}

const worker = new Worker<Notice>('bare', (job) => send(job.data), {
  connection: new Redis(store, { maxRetriesPerRequest: null }),
  concurrency: CONCURRENCY,
  removeOnComplete: { count: 1_000 },
});
worker.on('error', (error) => console.error(error.message));
