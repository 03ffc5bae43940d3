import { beforeEach, describe, expect, it } from 'vitest';
import { Intents } from '../../src/fleet/job-history.ts';
import { recordEnd } from '../../src/notices/end-scripts.ts';
import { readEnded } from '../../src/notices/ended.ts';
import { keysOf, type Keys } from '../../src/redis/keys.ts';
import { testRedis } from '../support/redis.ts';

describe('the intent of a notice, and the record of its end', () => {
  const redis = testRedis();
  let keys: Keys;
  let intents: Intents;
  const first = { job: 'a', nonce: 'first' };

  beforeEach(async () => {
    keys = keysOf(redis.freshPrefix(), 'default');
    intents = new Intents(redis.client, keys);
    await redis.client.set(keys.noticeLock('a'), 'lock');
    await redis.client.hset(keys.noticeJob('a'), { name: 'send', ats: 1, timestamp: 7 });
  });

  const begin = (attempt = first) => intents.begin(attempt, 'lock', 'worker');
  const record = (run: Partial<Parameters<typeof recordEnd>[2]> = {}) =>
    recordEnd(
      redis.client,
      keys,
      { id: 'a', lockToken: 'lock', started: 1, addedAt: 7, ...run },
      {
        state: 'unknown',
        code: 'TIMEOUT',
        template: 'T',
        contacts: 2,
        attempts: 1,
        possiblySent: 1,
        stage: 'sent',
      },
      100,
    );
  const entries = () => readEnded(redis.client, keys, ['a']);

  it('that was accepted is removed by later ends, once BullMQ has recorded the end of its job', async () => {
    for (const job of ['a', 'b', 'c']) {
      await redis.client.set(keys.noticeLock(job), 'lock');
      await redis.client.hset(keys.noticeJob(job), 'name', 'send');
      await begin({ job, nonce: 'first' });
      if (job === 'b') await redis.client.hset(keys.noticeJob('a'), 'finishedOn', 1);
      await intents.end({ job, nonce: 'first' }, 'accepted');
    }
    expect((await redis.client.hkeys(keys.history)).sort()).toEqual(['intent:b', 'intent:c']);
  });

  it('is recorded once, also by a later run, and with one event', async () => {
    expect([await record(), await record()]).toEqual(['recorded', 'recorded']);
    await redis.client.set(keys.noticeLock('a'), 'later');
    expect(await record({ lockToken: 'later', started: 2 })).toBe('recorded');
    expect(await redis.client.xlen(keys.events)).toBe(1);
  });

  it.each([
    ['another run has the lock', 'other', {}, 'lost'],
    ['its lock has ended, and no other run has started', undefined, {}, 'recorded'],
    ['its lock has ended, and another run had it', undefined, { ats: 2 }, 'lost'],
    ['its job has ended', undefined, { finishedOn: 1 }, 'lost'],
    ['contacts of it were erased since', undefined, { 'notices:erased': 1 }, 'lost'],
    ['it was sent again since', undefined, { timestamp: 8 }, 'lost'],
  ] as const)('where %s', async (_, lock, fields, answer) => {
    await (lock === undefined
      ? redis.client.del(keys.noticeLock('a'))
      : redis.client.set(keys.noticeLock('a'), lock));
    if (Object.keys(fields).length > 0) await redis.client.hset(keys.noticeJob('a'), fields);
    expect(await record()).toBe(answer);
    expect(await entries()).toHaveLength(answer === 'recorded' ? 1 : 0);
  });
});
