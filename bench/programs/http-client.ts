/** (d) The HTTP client alone, with fifty calls at a time: ours, bare undici, bare axios. */
import { Agent } from 'node:http';
import { create } from 'axios';
import { Pool } from 'undici';
import type { Notice } from '../../src/contracts/notice.ts';
import { createServiceClient } from '../../src/service/client.ts';
import { CONCURRENCY, notices } from '../work.ts';
import { places, tell } from './tell.ts';

const { service } = places();
const [kind = '', count = ''] = process.argv.slice(4);
const SEND_PATH = '/api/v2/notices/send';
const HEADERS = { authorization: 'Bearer sink-token', 'content-type': 'application/json' };

function sender(): (notice: Notice) => Promise<unknown> {
  if (kind === 'ours') {
    const client = createServiceClient({
      baseUrl: service,
      accessKey: 'emulator-access-key',
      secretKey: 'emulator-secret-key',
      apiVersion: 'v2',
      tokenPath: '/api/v2/token',
      sendPath: SEND_PATH,
      chatSenderKeyField: 'chatSenderKey',
      connectTimeoutMs: 5_000,
      answerTimeoutMs: 10_000,
      issueDeadlineMs: 5_000,
      notSentRetries: 2,
      connections: CONCURRENCY,
    });
    const token = Promise.resolve({ id: 'sink', value: 'sink-token' });
    const tokens = { get: () => token, renew: () => token };
    return (notice) => client.send(notice, tokens, { deadlineMs: 30_000 });
  }
  if (kind === 'undici') {
    const pool = new Pool(service, { connections: CONCURRENCY });
    return async (notice) => {
      const body = JSON.stringify(notice);
      const answer = await pool.request({
        path: SEND_PATH,
        method: 'POST',
        headers: HEADERS,
        body,
      });
      return answer.body.json();
    };
  }
  const http = create({ baseURL: service, httpAgent: new Agent({ keepAlive: true }) });
  return (notice) => http.post(SEND_PATH, notice, { headers: HEADERS });
}

const send = sender();
const work = notices(Number(count));
let next = 0;
process.once('message', () => {
  for (let slot = 0; slot < CONCURRENCY; slot++) {
    void (async () => {
      for (let notice = work[next++]; notice !== undefined; notice = work[next++]) {
        await send(notice);
      }
    })();
  }
});
tell({ ready: true });
