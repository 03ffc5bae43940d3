import { beforeEach, describe, expect, it } from 'vitest';
import { recordEnd } from '../../src/notices/end-scripts.ts';
import { readEnded } from '../../src/notices/ended.ts';
import { keysOf, type Keys } from '../../src/redis/keys.ts';
import { testRedis } from '../support/redis.ts';

const UNKNOWN = { state: 'unknown', code: 'TIMEOUT', template: 'T', contacts: 2 } as const;

describe('the record of the end of a notice', () => {
  const redis = testRedis();
  const { client } = redis;
  let keys: Keys;

  beforeEach(async () => {
    keys = keysOf(redis.freshPrefix(), 'default');
    await client.set(keys.noticeLock('a'), 'lock');
    await client.hset(keys.noticeJob('a'), { name: 'send', ats: 1, timestamp: 7 });
  });

  const record = (lockToken = 'lock', started = 1) => {
    const run = { id: 'a', lockToken, started, addedAt: 7 };
    const end = { ...UNKNOWN, attempts: 1, possiblySent: 1, stage: 'sent' } as const;
    return recordEnd(client, keys, run, end, 100);
  };

  it('is written once, also by a later run, and with one event', async () => {
    expect([await record(), await record()]).toEqual(['recorded', 'recorded']);
    await client.set(keys.noticeLock('a'), 'later');
    expect(await record('later', 2)).toBe('recorded');
    expect(await client.xlen(keys.events)).toBe(1);
  });

  it.each([
    ['another run has the lock', 'other', {}, 'lost'],
    ['its lock has ended, and no other run has started', undefined, {}, 'recorded'],
    ['its lock has ended, and another run had it', undefined, { ats: 2 }, 'lost'],
    ['its job has ended', undefined, { finishedOn: 1 }, 'lost'],
    ['contacts of it were erased since', undefined, { 'notices:erased': 1 }, 'lost'],
    ['it was sent again since', undefined, { timestamp: 8 }, 'lost'],
  ] as const)('where %s', async (_, lock, fields, answer) => {
    await client.del(keys.noticeLock('a'));
    if (lock !== undefined) await client.set(keys.noticeLock('a'), lock);
    if (Object.keys(fields).length > 0) await client.hset(keys.noticeJob('a'), fields);
    expect(await record()).toBe(answer);
    const entries = await readEnded(client, keys, ['a']);
    expect(entries).toHaveLength(answer === 'recorded' ? 1 : 0);
  });
});
