import { Pool } from 'undici';
import { CONCURRENCY } from '../work.ts';

/** Sends over undici with one token, for queues on PostgreSQL. */
export async function undiciSender(service: string): Promise<(notice: unknown) => Promise<void>> {
  const pool = new Pool(service, { connections: CONCURRENCY, headersTimeout: 10_000 });
  const post = async (path: string, authorization: string, body: string) => {
    const headers = { authorization, 'content-type': 'application/json' };
    const answer = await pool.request({ path, method: 'POST', headers, body });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`HTTP ${answer.statusCode}`);
    return text;
  };
  const pair = Buffer.from('emulator-access-key:emulator-secret-key').toString('base64');
  const issued = await post('/api/v2/token', `Basic ${pair}`, '');
  const { data } = JSON.parse(issued) as { data: { token: string } };
  return async (notice) => {
    await post('/api/v2/notices/send', `Bearer ${data.token}`, JSON.stringify(notice));
  };
}
