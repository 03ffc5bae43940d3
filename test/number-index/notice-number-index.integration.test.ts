import { describe, expect, it } from 'vitest';
import { findKey, hashNumber } from '../../src/number-index/number-key.ts';
import type { NoticeQueueOptions } from '../../src/index.ts';
import { findEntries } from '../../src/number-index/notice-number-index.ts';
import { noticeWorld } from '../notices/support/notice-world.ts';
import { numbers } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';

const redis = testRedis();
const SECRET = '5'.repeat(64);
const KEY = findKey(SECRET);
const DAY_MS = 24 * 3_600_000;

function world(options: NoticeQueueOptions = { findKey: SECRET }) {
  const { prefix, keys, queue } = noticeWorld(redis, options);
  const jobsOf = async (number: string, keepMs = DAY_MS, now = Date.now()) => {
    const entries = await findEntries(redis.client, keys, hashNumber(KEY, number), keepMs, now);
    return entries.map(({ jobId }) => jobId);
  };
  return { prefix, keys, queue, jobsOf };
}

const notice = (...list: string[]) => ({
  templateCode: 'T',
  contacts: list.map((contact) => ({ contact })),
});

/** Commands of Redis, and how often the server ran them for any client. */
async function commands(): Promise<ReadonlyMap<string, number>> {
  const lines = (await redis.client.info('commandstats')).matchAll(/^cmdstat_(\S+):calls=(\d+)/gm);
  return new Map([...lines].map(([, name = '', calls]) => [name, Number(calls)]));
}

describe('the find index of single notices', () => {
  it('finds the jobs of each number of a notice', async () => {
    const { queue, jobsOf } = world();
    const [one = '', two = '', three = ''] = numbers(3);
    const first = await queue.send(notice(one, two));
    const second = await queue.send(notice(two));
    expect(await jobsOf(one)).toEqual([first.id]);
    expect((await jobsOf(two)).sort()).toEqual([first.id, second.id].sort());
    expect(await jobsOf(three)).toEqual([]);
  });

  it('contains the time, and whether there was a deadline', async () => {
    const { queue, keys } = world();
    const [number = '', late = ''] = numbers(2);
    const before = Date.now();
    await queue.send(notice(number));
    await queue.send(notice(late), { expiresAt: Date.now() + 60_000 });
    const of = (number: string) =>
      findEntries(redis.client, keys, hashNumber(KEY, number), DAY_MS, Date.now());
    const [[entry], [other]] = [await of(number), await of(late)];
    expect(entry?.at).toBeGreaterThan(before - 1_000);
    expect(entry?.at).toBeLessThanOrEqual(Date.now());
    expect([entry?.expires, other?.expires]).toEqual([false, true]);
  });

  it('expires: entries older than the retention are not found, and sets expire a day after it', async () => {
    const { queue, keys, jobsOf, prefix } = world({ findKey: SECRET, keepFailedMs: 60_000 });
    const [number = ''] = numbers(1);
    await queue.send(notice(number));
    expect(await jobsOf(number, 60_000)).toHaveLength(1);
    expect(await jobsOf(number, 60_000, Date.now() + 90_000)).toEqual([]);
    const sets = (await redis.keys(prefix)).filter((key) => key.includes(':find:'));
    expect(sets).toHaveLength(1);
    const ttl = await redis.client.pttl(sets[0] ?? '');
    expect(ttl).toBeGreaterThan(DAY_MS);
    expect(ttl).toBeLessThanOrEqual(DAY_MS + 60_000);
    expect(sets[0]).toMatch(/:find:\d{5}:[0-9a-f]{4}$/);
    expect(keys.find(1, 'ffff')).toContain(`{${prefix}:default}`);
  });

  it('removes entries of jobs that the queue did not accept: a repeated key, and a conflict', async () => {
    const { queue, jobsOf } = world();
    const [one = '', two = ''] = numbers(2);
    const options = { idempotencyKey: 'order' };
    const { id } = await queue.send(notice(one), options);
    expect(await queue.send(notice(one), options)).toMatchObject({ id, duplicate: true });
    expect(await jobsOf(one)).toEqual([id]);
    await expect(queue.send(notice(two), options)).rejects.toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
    });
    expect(await jobsOf(two)).toEqual([]);
  });

  it('adds one entry for each contact, and none without a key', async () => {
    const counted = async (options: NoticeQueueOptions): Promise<number> => {
      const { queue } = world(options);
      await queue.send(notice('0101'));
      const before = await commands();
      for (const number of numbers(20)) await queue.send(notice(number));
      const after = await commands();
      return (after.get('pexpire') ?? 0) - (before.get('pexpire') ?? 0);
    };
    expect([await counted({}), await counted({ findKey: SECRET })]).toEqual([0, 20]);
    const { queue, prefix } = world({});
    await queue.send(notice('0101'));
    expect((await redis.keys(prefix)).filter((key) => key.includes(':find:'))).toEqual([]);
  });

  it('that Redis refuses does not fail the send', async () => {
    const { queue, keys } = world();
    const [number = ''] = numbers(1);
    const hash = hashNumber(KEY, number);
    const day = Math.floor(Date.now() / DAY_MS);
    for (const at of [day, day + 1]) {
      await redis.client.set(keys.find(at, hash.toString('hex', 4, 6)), 'something else');
    }
    await expect(queue.send(notice(number))).resolves.toMatchObject({ duplicate: false });
  });
});
