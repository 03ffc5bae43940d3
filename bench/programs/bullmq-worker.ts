/**
 * BullMQ with axios or undici as a user would write it, and would be right to: keep-alive, a token cached in the
 * process. With `sealed`, jobs are encrypted and each notice has one pino line.
 */
import { Agent } from 'node:http';
import { create } from 'axios';
import axiosRetry from 'axios-retry';
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { destination, pino } from 'pino';
import { Pool } from 'undici';
import type { Notice } from '../../src/contracts/notice.ts';
import { CONCURRENCY } from '../work.ts';
import { openNotice, type SealedNotice } from './sealed-notice.ts';

const [store = '', service = '', client, sealed] = process.argv.slice(2);
type Post = (
  path: string,
  authorization: string,
  body?: unknown,
) => Promise<{ status: number; data: unknown }>;

function overAxios(): Post {
  const http = create({
    baseURL: service,
    httpAgent: new Agent({ keepAlive: true }),
    timeout: 10_000,
    validateStatus: (status) => status < 300 || status === 401,
  });
  axiosRetry(http, { retries: 3, retryDelay: (count) => 100 * 2 ** count });
  return (path, Authorization, body) => http.post(path, body, { headers: { Authorization } });
}

function overUndici(): Post {
  const pool = new Pool(service, { connections: CONCURRENCY, headersTimeout: 10_000 });
  return async (path, authorization, body) => {
    const answer = await pool.request({
      path,
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: body === undefined ? '' : JSON.stringify(body),
    });
    return { status: answer.statusCode, data: JSON.parse(await answer.body.text()) as unknown };
  };
}

const post = client === 'axios' ? overAxios() : overUndici();
const log = pino(destination({ dest: 1, sync: false }));
let token: Promise<string> | undefined;

async function issueToken(): Promise<string> {
  const pair = Buffer.from('emulator-access-key:emulator-secret-key').toString('base64');
  const { data } = await post('/api/v2/token', `Basic ${pair}`);
  return (data as { data: { token: string } }).data.token;
}

async function send(notice: Notice, again = true): Promise<void> {
  const bearer = await (token ??= issueToken());
  const { status } = await post('/api/v2/notices/send', `Bearer ${bearer}`, notice);
  if (status < 300) return;
  if (status !== 401 || !again) throw new Error(`HTTP ${status}`);
  token = undefined;
  await send(notice, false);
}

async function sendSealed(data: SealedNotice, id: string | undefined): Promise<void> {
  const startedAt = performance.now();
  const notice = openNotice(data);
  await send(notice);
  const { templateCode, contacts } = notice;
  const durationMs = Math.round(performance.now() - startedAt);
  log.info({ id, templateCode, contacts: contacts.length, durationMs }, 'accepted');
}

const worker = new Worker<Notice | SealedNotice>(
  'bare',
  ({ data, id }) =>
    sealed === 'sealed' ? sendSealed(data as SealedNotice, id) : send(data as Notice),
  {
    connection: new Redis(store, { maxRetriesPerRequest: null }),
    concurrency: CONCURRENCY,
    removeOnComplete: { count: 1_000 },
  },
);
worker.on('error', (error) => console.error(error.message));
