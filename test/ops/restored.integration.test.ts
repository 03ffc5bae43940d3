import { describe, expect, it } from 'vitest';
import { Ledger } from '../../src/batch/ledger/ledger.ts';
import type { OperationContext } from '../../src/ops/operations/operation.ts';
import {
  exportRestored,
  parkRestored,
  restoredNotices,
  showRestored,
} from '../../src/ops/operations/restored.ts';
import { readEnded } from '../../src/notices/ended.ts';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import { type Keys } from '../../src/redis/keys.ts';
import { run } from '../cli/support/run.ts';
import { NO_SEALING } from '../../src/payload/seal.ts';
import { numbers } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';

const HOUR = 3_600_000;
const ME = { who: 'me', why: '' };
const report = (target: OperationContext) => showRestored.run(target, {}, ME);
const redis = testRedis();

/** A queue in which so many notices wait, and an event at a time. */
async function queueWith(fill: (queue: NoticeQueue) => Promise<unknown>) {
  const { prefix, keys } = redis.account();
  const queue = new NoticeQueue({ redis: connectionAs('application', redis.url), prefix });
  await fill(queue);
  await queue.close();
  const ledger = new Ledger(redis.client, keys);
  const target = { redis: redis.client, keys, ledger, sealing: NO_SEALING } as OperationContext;
  return { prefix, keys, target };
}

async function looksOld(keys: Keys, at: number, held = true): Promise<void> {
  const event = { event: 'e', eventAt: at, why: 'gap', copyAt: at - HOUR, missingMs: HOUR };
  const epoch = { id: 'one', bornAt: at - HOUR, beats: 1, at, verdict: 'held', ...event };
  await redis.client.hset(keys.epoch, epoch);
  if (held)
    await redis.client.hset(keys.hold, 'queue', JSON.stringify({ kind: 'restored', code: 'gap' }));
}

const notice = (contact: string) => ({ templateCode: 'T', contacts: [{ contact }] });

async function idsIn(keys: Keys, at: number): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of restoredNotices({ redis: redis.client, keys }, { at })) ids.push(id);
  return ids;
}

describe('what an old copy might send again', () => {
  it('is every notice that waits, over any number of pages, each once', async () => {
    const { keys } = await queueWith(async (queue) => {
      await queue.sendMany(numbers(250).map(notice));
      await queue.sendMany(numbers(230, 1_000).map(notice), { priority: 7 });
      await queue.sendMany(numbers(20, 2_000).map(notice), { priority: 3 });
      await queue.sendMany(numbers(250, 3_000).map(notice), { delay: 60_000 });
    });
    const ids = await idsIn(keys, Date.now());
    expect(ids).toHaveLength(750);
    expect(new Set(ids).size).toBe(750);
  });

  it('is none that was not due by then, and none that was handed over since', async () => {
    const { keys } = await queueWith(async (queue) => {
      await queue.sendMany(numbers(3).map(notice));
      await queue.sendMany(numbers(5, 100).map(notice), { delay: HOUR });
    });
    const now = Date.now();
    expect(await idsIn(keys, now)).toHaveLength(3);
    expect(await idsIn(keys, now + HOUR)).toHaveLength(8);
    expect(await idsIn(keys, now - HOUR)).toEqual([]);
    // Clocks of producers may be ahead.
    expect(await idsIn(keys, now - 60_000)).toHaveLength(3);
  });

  it('is what is not settled of batches begun before, but not of those that were cancelled', async () => {
    const list = (from: number) => numbers(10, from).map((contact) => ({ contact }));
    const { prefix, keys, target } = await queueWith(async (queue) => {
      for (const [index, batchId] of ['a', 'b', 'c'].entries()) {
        await queue.import(list(index * 10), { templateCode: 'B', batchId, chunkSize: 4 });
      }
      await queue.send(notice('01000009999'));
    });
    await target.ledger.control('b', 'cancel');
    await target.ledger.control('c', 'pause');
    await looksOld(keys, Date.now());
    expect(await report(target)).toMatchObject({
      held: true,
      event: { why: 'gap' },
      notices: { jobs: 1, contacts: 1 },
      batches: [
        { batch: 'c', contacts: 10, phase: 'paused', importing: false },
        { batch: 'a', contacts: 10, phase: 'sending', importing: false },
      ],
    });
    let csv = '';
    const written = await exportRestored(target, (text) => Promise.resolve(((csv += text), true)));
    expect(written).toBe(21);
    for (const number of [...numbers(10), ...numbers(10, 20), '01000009999']) {
      expect(csv).toContain(number);
    }
    const words = await run(['restored'], { REDIS_URL: redis.url, REDIS_PREFIX: prefix });
    expect(words.stdout).toContain('21 contacts might be sent again');
    expect(words.stdout).toContain('"notices hold lift"');
    expect(words.stdout).not.toMatch(/0100\d{7}/);

    await redis.client.hset(keys.epoch, 'eventAt', Date.now() - HOUR);
    expect(await report(target)).toMatchObject({ notices: { jobs: 0 }, batches: [] });
  });

  it('is not set aside once the hold is lifted, nor where Redis never looked old', async () => {
    const { keys, target } = await queueWith((queue) => queue.sendMany(numbers(2).map(notice)));
    const park = () => parkRestored.run(target, {}, ME);
    const none = { jobs: 0, notHeld: true };
    expect(await report(target)).toMatchObject({ event: null });
    expect(await park()).toMatchObject(none);
    await looksOld(keys, Date.now(), false);
    expect(await park()).toMatchObject(none);
    await redis.client.hset(keys.hold, 'queue', JSON.stringify({ kind: 'manual', code: 'x' }));
    expect(await park()).toMatchObject(none);
    expect(await redis.client.exists(keys.history)).toBe(0);
    await redis.client.hset(keys.hold, 'queue', JSON.stringify({ kind: 'restored' }));
    // One was being sent when the copy was made.
    const [wait, active] = [keys.noticeJob('wait'), keys.noticeJob('active')];
    await redis.client.lmove(wait, active, 'RIGHT', 'LEFT');
    expect(await park()).toMatchObject({ jobs: 2, contacts: 2, notHeld: false });
    expect(await redis.client.exists(wait, active)).toBe(0);
    const ids = await redis.client.zrange(keys.endedIn('unknown'), '0', '-1');
    expect(await readEnded(redis.client, keys, ids)).toMatchObject([
      { state: 'unknown', code: 'OUTCOME_UNKNOWN', possiblySent: 1, contacts: 1 },
      { state: 'unknown' },
    ]);
    expect(await park()).toMatchObject({ jobs: 0, notHeld: false });
  });

  it('can be stopped while it is set aside, and leaves the rest as it is', async () => {
    const { keys, target } = await queueWith((queue) => queue.sendMany(numbers(5).map(notice)));
    await looksOld(keys, Date.now());
    const stopping = { ...ME, signal: AbortSignal.abort() };
    expect(await parkRestored.run(target, {}, stopping)).toMatchObject({ jobs: 0, stopped: true });
    expect(await redis.client.exists(keys.history, keys.audit)).toBe(0);
  });
});
