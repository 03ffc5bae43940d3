import { expect, it } from 'vitest';
import { beat } from '../../src/fleet/heartbeat.ts';
import { placeManualHold } from '../../src/fleet/hold/holds.ts';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { failNotices } from '../ops/support/failed-notices.ts';
import { commandWorld } from './support/command-world.ts';
import { runProcess } from './support/process.ts';
import { run } from './support/run.ts';
import { connectionAs } from '../support/redis-users.ts';

const { redis, prefix, list, env } = commandWorld();

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

it('commands take and write times in the zone of the system', async () => {
  const HOUR = 3_600_000;
  const zoned = { ...env(), TZ: 'Asia/Seoul' };
  const inSeoul = (at: number) => new Date(at + 9 * HOUR).toISOString().slice(0, 16);
  const notices = async (...args: string[]) => {
    const { stdout, stderr } = await runProcess(args, zoned);
    return stdout + stderr;
  };
  const [earlier, later] = [-HOUR, HOUR].map((ms) => inSeoul(Date.now() + ms));
  for (const time of [earlier ?? '', earlier?.replace('T', ' ') ?? '']) {
    expect(await notices('batches', '--since', time)).toContain('sending ');
  }
  const queue = ['--template', 'T', '--contact', '01000000001', '--idempotency-key', 'zone'];
  await notices('send', ...queue, '--send-at', later ?? '');
  expect(await notices('show', '--key', 'zone')).toMatch(
    /delayed, due in (?:59|60) min \((?:[\d-]+ )?[\d:]{8} GMT\+9\)/,
  );
  const start = ['--start-at', '2099-12-01T10:00', '--expires', '2099-12-02'];
  await notices('import', list, '--template', 'T', '--batch', 'zone', ...start);
  const shown = await notices('batch', 'zone');
  expect(shown).toContain('it starts at 2099-12-01 10:00:00 GMT+9;');
  expect(shown).toContain('until 2099-12-02 00:00:00 GMT+9');
  for (const [line, flag] of [
    ['failures', '--since'],
    ['waiting', '--queued-after'],
    ['batches', '--before'],
    ['send --template T --contact 01000000001', '--send-at'],
    ['send --template T --contact 01000000001', '--expires-at'],
    ['import list.csv --template T', '--start-at'],
  ] as const) {
    const { stderr: refused } = await run([...line.split(' '), flag, 'soon'], zoned);
    expect(refused).toMatch(new RegExp(`${flag}.*xpected a time such as .*in the system's zone`));
    expect(refused).not.toMatch(/UTC|Date|call again/);
  }
});
