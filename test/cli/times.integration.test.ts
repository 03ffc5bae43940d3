import { expect, it } from 'vitest';
import { beat } from '../../src/fleet/heartbeat.ts';
import { placeManualHold } from '../../src/fleet/hold/holds.ts';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { failNotices } from '../ops/support/failed-notices.ts';
import { commandWorld } from './support/command-world.ts';
import { run } from './support/run.ts';
import { connectionAs } from '../support/redis-users.ts';

const { redis, prefix, env } = commandWorld();

/** What is said relative to now, and what has to follow it. */
const RELATIVE =
  /\b(?:\d+ (?:ms|s|min|h|d) (?:ago|left)|for the last \d+ \w+|the oldest for \d+ \w+|in \d+ (?:s|min|h|d))\b/g;
const TIME = /^ \((?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d UTC\)/;

it('commands write the time itself beside each time relative to now', async () => {
  const keys = keysOf(prefix, 'default');
  const server = { url: redis.url, client: redis.client };
  const { ids } = await failNotices(server, prefix, { count: 1 });
  await failNotices(server, prefix, { count: 1, from: 1, state: 'unknown' });
  const worker = { id: 'w', host: 'h', pid: 1, version: '1', concurrency: 4, active: 1 };
  const heart = { ...worker, startedAt: Date.now() - 60_000, loopDelayMs: 2, pair: 'pair' };
  await beat(redis.client, keys, heart, 60_000);
  const notices = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
  await notices.send({ templateCode: 'T', contacts: [{ contact: '01000000001' }] });
  await notices.close();
  await placeManualHold(redis.client, keys, 'a test');

  const lines = [
    'status',
    'hold',
    'batches',
    'batch sending',
    'batch over',
    'failures',
    `show ${ids[0]}`,
    'find 01000000001',
  ];
  const found: Record<string, number> = {};
  for (const line of lines) {
    const { stdout, stderr } = await run(line.split(' '), env());
    for (const said of stdout.matchAll(RELATIVE)) {
      const after = stdout.slice(said.index + said[0].length);
      expect([line, said[0], TIME.test(after), stderr]).toEqual([line, said[0], true, '']);
      found[line] = (found[line] ?? 0) + 1;
    }
  }
  expect(Object.keys(found).toSorted()).toEqual([
    'batch over',
    'batch sending',
    'batches',
    'failures',
    `show ${ids[0]}`,
    'status',
  ]);
  const { stdout } = await run(['find', '01000000001'], env());
  expect(stdout).toMatch(
    /^Searched notices of the last 7 d \([\d-]{10} \d\d:\d\d:\d\d UTC\): single/m,
  );
  const { stdout: hold } = await run(['hold'], env());
  expect(hold).toMatch(/manual \(a test\) for \d+ m?s \(\d\d:\d\d:\d\d UTC\): /);
});
