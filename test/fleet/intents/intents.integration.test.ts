import { beforeEach, describe, expect, it } from 'vitest';
import { Intents, type UnknownFacts } from '../../../src/fleet/intents/intents.ts';
import { keysOf, type Keys } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';

const FACTS: UnknownFacts = {
  template: 'T',
  contacts: 2,
  code: 'TIMEOUT',
  stage: 'sent',
  delivery: 'at-most-once',
  possiblySent: 1,
};
const KEEP_MS = 60_000;

describe('the intent of a notice', () => {
  const redis = testRedis();
  let keys: Keys;
  let intents: Intents;
  const first = { job: 'a', nonce: 'first' };
  const second = { job: 'a', nonce: 'second' };

  beforeEach(async () => {
    keys = keysOf(redis.freshPrefix(), 'default');
    intents = new Intents(redis.client, keys);
    await redis.client.set(keys.noticeLock('a'), 'lock');
    await redis.client.hset(keys.noticeJob('a'), 'name', 'send');
  });

  const begin = async (attempt = first) =>
    (await intents.begin([{ ...attempt, lockToken: 'lock' }], 'worker'))[0];
  const listed = async () => {
    const text = await redis.client.hget(keys.intents.unknown, 'a');
    return text === null ? undefined : (JSON.parse(text) as UnknownFacts);
  };

  it('is recorded once for an attempt, and again when it is asked again', async () => {
    expect([await begin(), await begin()]).toEqual(['send', 'send']);
  });

  it('is refused without the lock of the job, and records nothing', async () => {
    expect(await intents.begin([{ ...first, lockToken: 'other' }], 'worker')).toEqual(['lost']);
    expect(await begin(second)).toBe('send');
  });

  it('that never ended makes the next attempt unknown; listed, it stays so', async () => {
    await begin();
    expect(await begin(second)).toBe('unknown');
    await intents.park([{ ...second, facts: FACTS }], 'any', KEEP_MS);
    expect(await begin({ job: 'a', nonce: 'third' })).toBe('unknown');
    expect(await redis.client.hlen(keys.history)).toBe(0);
  });

  it('that was taken back lets the next attempt send', async () => {
    await begin();
    await intents.end([first], 'back');
    expect(await begin(second)).toBe('send');
  });

  it('of another attempt is not ended', async () => {
    await begin();
    await intents.end([second], 'back');
    await intents.park([{ ...second, facts: FACTS }], 'own', KEEP_MS);
    expect([await begin(second), await listed()]).toEqual(['unknown', undefined]);
  });

  it('that was accepted prevents another send, until BullMQ has recorded it', async () => {
    await begin();
    await intents.end([first], 'accepted');
    expect(await begin(second)).toBe('accepted');
    const accept = async (job: string) => {
      await redis.client.set(keys.noticeLock(job), 'lock');
      await redis.client.hset(keys.noticeJob(job), 'name', 'send');
      await intents.begin([{ job, nonce: job, lockToken: 'lock' }], 'worker');
      await intents.end([{ job, nonce: job }], 'accepted');
    };
    await accept('b');
    expect(await begin(second)).toBe('accepted');
    await redis.client.hset(keys.noticeJob('a'), { finishedOn: 1 });
    await redis.client.del(keys.noticeJob('b'));
    await accept('c');
    expect(await redis.client.hkeys(keys.history)).toEqual(['intent:c']);
    expect(await redis.client.zrangebyscore(keys.intents.accepted, '-inf', '+inf')).toEqual(['c']);
  });

  it('an answer that arrives after the notice was listed is recorded for the decision', async () => {
    await begin();
    await begin(second);
    await intents.park([{ ...second, facts: { ...FACTS, stage: 'begun' } }], 'any', KEEP_MS);
    await intents.end([first], 'accepted');
    expect(await listed()).toMatchObject({ stage: 'accepted', template: 'T' });
    expect(await redis.client.hlen(keys.history)).toBe(0);
  });

  it('a run that finds the notice listed leaves what the earlier run knew', async () => {
    await begin();
    await intents.park([{ ...first, facts: FACTS }], 'own', KEEP_MS);
    expect(await begin(second)).toBe('unknown');
    await intents.park(
      [{ ...second, facts: { ...FACTS, code: 'OUTCOME_UNKNOWN' } }],
      'any',
      KEEP_MS,
    );
    expect(await listed()).toMatchObject({ code: 'TIMEOUT' });
  });

  it('one that ends only an intent that is there says the same when it is repeated', async () => {
    const park = () => intents.park([{ ...second, facts: FACTS }], 'open', KEEP_MS);
    expect(await park()).toEqual([0]);
    await begin();
    expect([await park(), await park()]).toEqual([[1], [1]]);
  });

  it('an entry says nothing any more once its job is gone or has completed', async () => {
    await intents.park([{ ...first, facts: FACTS }], 'none', KEEP_MS);
    await intents.forgetStale(['a']);
    expect(await listed()).toBeDefined();
    // The worker that listed it came too late: another one was accepted.
    await redis.client.zadd(keys.noticeJob('completed'), 1, 'a');
    await intents.forgetStale(['a']);
    expect(await listed()).toBeUndefined();
    await intents.park([{ ...first, facts: FACTS }], 'none', KEEP_MS);
    await redis.client.del(keys.noticeJob('a'), keys.noticeJob('completed'));
    await intents.forgetStale(['a']);
    expect(await redis.client.zcard(keys.intents.unknownAt)).toBe(0);
  });

  it('an entry past its retention is removed, unless its job waits or is kept as failed', async () => {
    await intents.park([{ ...first, facts: FACTS }], 'none', KEEP_MS);
    await redis.client.zadd(keys.intents.unknownAt, 1, 'a');
    const other = { job: 'b', nonce: 'b' };
    await intents.park([{ ...other, facts: FACTS }], 'none', KEEP_MS);
    expect(await listed()).toBeDefined();
    await redis.client.hset(keys.noticeJob('a'), { finishedOn: 1 });
    await redis.client.zadd(keys.failedNotices, 1, 'a');
    await intents.park([{ ...other, facts: FACTS }], 'none', KEEP_MS);
    expect(await listed()).toBeDefined();
    // As BullMQ removes it.
    await redis.client.zrem(keys.failedNotices, 'a');
    await redis.client.del(keys.noticeJob('a'));
    await intents.park([{ ...other, facts: FACTS }], 'none', KEEP_MS);
    expect(await redis.client.hkeys(keys.intents.unknown)).toEqual(['b']);
  });
});
