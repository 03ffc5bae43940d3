import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { startEmulator } from '../../../src/emulator/emulator.ts';
import { NoticeQueue } from '../../../src/index.ts';
import { startNoticeWorker } from '../../../workers/process/notice-worker.ts';
import { freePort } from '../../../scripts/redis/free-port.ts';
import { testRedis } from '../../support/redis.ts';
import { connectionAs, environmentAs } from '../../support/redis-users.ts';
import { until } from '../../support/wait.ts';

const redis = testRedis();
const KEYS = { ACCESS_KEY: 'emulator-access-key', SECRET_KEY: 'emulator-secret-key' };

it('sends in the process of its caller, logs to its pino, and stops', async () => {
  const emulator = await startEmulator();
  onTestFinished(() => emulator.close());
  const prefix = redis.freshPrefix();
  const lines: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) });
  await using queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
  {
    const address = { REDIS_URL: redis.url, REDIS_PREFIX: prefix, BASE_URL: emulator.url };
    const env = environmentAs('worker', { ...address, ...KEYS });
    await using worker = await startNoticeWorker({ env, logger });
    expect([worker.id, worker.notReady()]).toEqual([expect.any(String), []]);
    await queue.send({ templateCode: 'T', contacts: [{ contact: '01000000001' }] });
    await until(() => emulator.record().contacts === 1, { what: 'the notice' });
  }
  const events = lines.map((line) => (JSON.parse(line) as { event?: string }).event);
  expect(events).toEqual(expect.arrayContaining(['started', 'accepted', 'stopped']));
});

it('needs credentials', async () => {
  await expect(startNoticeWorker({ env: { REDIS_URL: redis.url } })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
  });
});

it('gives the start up when it is told to while Redis is away', async () => {
  const port = await freePort();
  const env = { REDIS_URL: `redis://127.0.0.1:${port}`, BASE_URL: 'http://127.0.0.1:9', ...KEYS };
  const logger = pino({ level: 'silent' });
  const gaveUp = new AbortController();
  const starting = startNoticeWorker({ env, logger, signal: gaveUp.signal });
  gaveUp.abort();
  await expect(starting).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' });
});
