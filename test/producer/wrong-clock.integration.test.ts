import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { storedJob } from './support/stored-jobs.ts';

const redis = testRedis();
const run = promisify(execFile);
const PRELOAD = new URL('../support/shifted-clock.mjs', import.meta.url).href;
const HOUR_MS = 3_600_000;
const DELAY_MS = 60_000;

/** Sends a notice in a process whose wall clock is wrong, and answers its id. */
async function sendWith(shiftMs: number, prefix: string, option: string): Promise<string> {
  const options = { redis: connectionAs('producer', redis.url), prefix };
  const code = `
    const { NoticeQueue } = await import('notice-queue');
    const queue = new NoticeQueue(${JSON.stringify(options)});
    const notice = { templateCode: 'T', contacts: [{ contact: '01000000001' }] };
    console.log((await queue.send(notice, { ${option} })).id);
    await queue.close();`;
  const { PATH = '' } = process.env;
  const env = { PATH, NODE_OPTIONS: `--import=${PRELOAD}`, CLOCK_SHIFT_MS: String(shiftMs) };
  const args = ['--input-type=module', '--eval', code];
  return (await run(process.execPath, args, { env })).stdout.trim();
}

it.each([
  ['an hour ahead', HOUR_MS, `delay: ${DELAY_MS}`],
  ['an hour behind', -HOUR_MS, `delay: ${DELAY_MS}`],
  ['an hour behind, with sendAt', -HOUR_MS, `sendAt: Date.now() + ${HOUR_MS + DELAY_MS}`],
])(
  'a producer whose clock is %s: its notice is due by the clock of Redis',
  async (_, shift, option) => {
    const prefix = redis.freshPrefix();
    const from = Date.now();
    const id = await sendWith(shift, prefix, option);
    const { timestamp, delay } = await storedJob(redis.client, prefix, id);
    expect(timestamp + delay).toBeGreaterThan(from + DELAY_MS - 1_000);
    expect(timestamp + delay).toBeLessThan(Date.now() + DELAY_MS + 1_000);
  },
);
