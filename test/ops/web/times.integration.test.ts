import { expect, it } from 'vitest';
import { allAccepted } from '../../../src/batch/ledger/settlement.ts';
import { beat } from '../../../src/fleet/heartbeat.ts';
import { placeManualHold } from '../../../src/fleet/hold/holds.ts';
import { buildBatch, contacts, part } from '../../batch/support/built-batch.ts';
import { testRedis } from '../../support/redis.ts';
import { failNotices } from '../support/failed-notices.ts';
import { startOps } from './support/ops-bench.ts';
import { acceptOf, readPaths } from './support/read-paths.ts';

const redis = testRedis();

/** What is said relative to now. */
const RELATIVE =
  /\b\d+ (?:ms|s|min|h|d) (?:ago|left)\b|the oldest for \d+|\bin(?: the last)? \d+ (?:ms|s|min|h|d)\b/;
const TIME = /<time\s+datetime="([^"]+)"\s+title="([^"]+)"\s*>([^]*?)<\/time\s*>/g;

it('every page shows the time itself beside each time relative to now', async () => {
  const prefix = redis.freshPrefix();
  const bench = await startOps(redis.url, prefix, {
    FIND_KEY: Buffer.alloc(32, 1).toString('base64'),
  });
  const { keys } = bench.context;
  const lists = [contacts(2), contacts(2, 2), contacts(2, 4)];
  const batch = await buildBatch(redis.client, prefix, 'b', lists);
  await batch.settle(0, allAccepted());
  await batch.settle(1, { accepted: 1, failed: [await part('rejected', 'BAD', contacts(1))] });
  await bench.context.notices.send({ templateCode: 'T', contacts: contacts(1) });
  const { ids } = await failNotices({ url: redis.url, client: redis.client }, prefix, { count: 2 });
  await failNotices({ url: redis.url, client: redis.client }, prefix, {
    count: 2,
    from: 2,
    state: 'unknown',
  });
  const worker = { id: 'w', host: 'h', pid: 1, version: '1', concurrency: 4, active: 1 };
  const heart = { ...worker, startedAt: Date.now() - 60_000, loopDelayMs: 2, pair: 'pair' };
  await beat(redis.client, keys, heart, 60_000);
  const operator = await bench.operator();
  const pages = readPaths('b').filter(
    (path) => !path.startsWith('/api') && !path.startsWith('/queues'),
  );

  const shown: string[] = [];
  for (const held of [false, true]) {
    if (held) await placeManualHold(redis.client, keys, 'a test');
    for (const path of [...pages, `/notices/${ids[0]}`]) {
      const { status, text } = await operator.get(path, { accept: acceptOf(path) });
      expect([path, status]).toEqual([path, 200]);
      for (const [, datetime, title, words = ''] of text.matchAll(TIME)) {
        expect([path, datetime]).toEqual([path, title]);
        expect(words.replaceAll(/\s+/g, ' ')).toMatch(/[ >]\d\d:\d\d UTC<\/span> ?$/);
        shown.push(words.replace(/\d+.*/s, '').trim());
      }
      const [, main = ''] = text.split(/<main[^>]*>/);
      const rest = main
        .replaceAll(TIME, '')
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll(/\s+/g, ' ');
      expect([path, RELATIVE.exec(rest)?.[0]]).toEqual([path, undefined]);
    }
  }
  expect(new Set(shown)).toEqual(new Set(['', 'the oldest for', 'about']));

  const found = await operator.post(
    '/find',
    { number: contacts(1)[0]?.contact ?? '' },
    {
      accept: 'text/html',
    },
  );
  expect(found.text.match(TIME)?.join(' ').replaceAll(/\s+/g, ' ')).toMatch(
    /in the last 7 d <span/,
  );
});
