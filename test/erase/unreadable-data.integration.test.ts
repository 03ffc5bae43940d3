import { describe, expect, it, vi } from 'vitest';
import { QUEUE_NAME } from '../../src/redis/keys.ts';
import { openBullQueue } from '../../src/redis/open-queue.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { startWorkerInProcess } from '../workers/support/worker-in-process.ts';
import { NOTHING, NUMBER, openErase, OTHER } from './support/open-erase.ts';
import { readEnded } from '../../src/notices/ended.ts';

// Workers are started and stopped.
vi.setConfig({ testTimeout: 60_000 });

const redis = testRedis();

describe('data that no worker can read', () => {
  /** A queue with a job of another producer, which has this text as its data. */
  async function withJob(data: string) {
    const opened = openErase(redis, redis.freshPrefix());
    const queue = openBullQueue(QUEUE_NAME, redis.client, opened.keys);
    const { id = '' } = await queue.add('send', {});
    await queue.close();
    const key = opened.keys.noticeJob(id);
    await redis.client.hset(key, 'data', data);
    const fail = async () => {
      const worker = await startWorkerInProcess(redis.url, opened.prefix, opened.secrets);
      await until(() => redis.client.zscore(opened.keys.endedIn('rejected'), id), {
        what: 'its failure',
      });
      await worker.stop();
    };
    return { ...opened, id, key, fail };
  }
  const invalid = (contact: unknown) =>
    JSON.stringify({ v: 1, notice: { templateCode: 'T', contacts: [{ contact }] } });

  it.each([
    ['cut off', `{"v":1,"notice":{"contacts":[{"contact":"${NUMBER}"`],
    ['with hyphens', '{"v":1,"contact":"010-7777-8888'],
    ['international', 'to: +82 (0)10 7777 8888'],
    ['international, without separators', 'to=00821077778888;'],
    ['full width', 'to: ０１０-７７７７-８８８８'],
    ['URL-encoded', 'to=010%2D7777%2D8888&x'],
    ['base64', `x ${Buffer.from(`to ${NUMBER} now`).toString('base64')}`],
    ['not a job: plus sign', invalid('+82 10-7777-8888')],
    ['not a job: a number without its zero', invalid(1077778888)],
  ])('is removed after it failed, and while it waits: %s', async (_name, data) => {
    const waiting = await withJob(data);
    expect(await waiting.erase()).toMatchObject({
      code: 0,
      report: { notices: { cancelled: 1 }, left: [], unreadable: { notices: 0 } },
    });
    expect(await redis.client.exists(waiting.key)).toBe(0);

    const failed = await withJob(data);
    await failed.fail();
    expect(await failed.erase()).toMatchObject({
      code: 0,
      report: { notices: { removed: 1 }, left: [], unreadable: { notices: 0 } },
    });
    expect(await redis.client.exists(failed.key)).toBe(0);
    expect(new Set((await failed.traces()).map(([form]) => form))).toEqual(new Set(['masked']));
  });

  it('is removed where it names accepted contacts, too', async () => {
    const { erase, key } = await withJob(`{"v":1,"accepted":["${NUMBER}"`);
    expect(await erase()).toMatchObject({ code: 0, report: { notices: { cancelled: 1 } } });
    expect(await redis.client.exists(key)).toBe(0);
  });

  it.each([
    ['another number', `{"v":1,"notice":{"contacts":[{"contact":"${OTHER}"`],
    ['a longer number', `{"v":1,"x":"99${NUMBER}"`],
    ['a longer number behind it', `{"v":1,"x":"${NUMBER}9"`],
  ])('stays where it has %s', async (_name, data) => {
    const { erase, id, keys, fail } = await withJob(data);
    await fail();
    expect(await erase()).toEqual({ code: 0, report: NOTHING });
    const [kept] = await readEnded(redis.client, keys, [id]);
    expect(kept?.data).toBe(`data ${data}\n`);
  });

  it('is removed for a short number only where it is a whole value', async () => {
    const { erase, key } = await withJob('{"v":1,"time":114,"to":"119"');
    expect(await erase('114')).toMatchObject({ report: { notices: NOTHING.notices } });
    expect(await redis.client.exists(key)).toBe(1);
    expect(await erase('119')).toMatchObject({ report: { notices: { cancelled: 1 } } });
  });
});
