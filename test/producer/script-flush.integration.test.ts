import { describe, expect, it } from 'vitest';
import { NoticeQueue } from '../../src/index.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { contacts, waitingIds } from './support/stored-jobs.ts';

const redis = testRedis();

describe('a Redis that has lost its scripts (SCRIPT FLUSH)', () => {
  it.each([
    ['one call', 1],
    ['many calls at once', 50],
  ])('%s: every notice is queued', async (_, calls) => {
    const prefix = redis.freshPrefix();
    await using queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
    const notice = { templateCode: 'T', contacts: contacts(1) };
    await queue.send(notice);
    for (let round = 0; round < 3; round++) {
      await redis.client.script('FLUSH');
      await Promise.all(Array.from({ length: calls }, () => queue.send(notice)));
    }
    expect(await waitingIds(redis.client, prefix)).toHaveLength(1 + 3 * calls);
  });

  it.each([
    ['delayed', { delay: 60_000 }],
    ['with a priority', { priority: 3 }],
  ])('%s', async (_, options) => {
    const prefix = redis.freshPrefix();
    await using queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
    const notice = { templateCode: 'T', contacts: contacts(1) };
    await queue.send(notice, options);
    await redis.client.script('FLUSH');
    const [receipt] = await queue.sendMany([notice, notice], options);
    expect(receipt?.duplicate).toBe(false);
  });
});
