import { expect, it } from 'vitest';
import { JobHistories, possibleSends } from '../../src/fleet/job-history.ts';
import { recordEnd } from '../../src/notices/end-scripts.ts';
import { testRedis } from '../support/redis.ts';

const redis = testRedis();
const { client } = redis;

it.each(['{', '5', '[1]', '[{"code":"TIMEOUT","run":"r"}]'])(
  'unknown attempts that are stored as %s count as one, and the next is noted',
  async (stored) => {
    const { keys } = redis.account();
    const histories = new JobHistories(client, keys);
    await client.hset(keys.history, 'unknown:a', stored);
    expect(possibleSends(await histories.read('a'), 0)).toEqual({ possiblySent: 1, traceIds: [] });
    await client.set(keys.noticeLock('a'), 'lock');
    const attempt = { run: 'lock', code: 'TIMEOUT', traceId: 't' };
    for (let times = 0; times < 2; times++) await histories.noteUnknown('a', attempt);
    expect(possibleSends(await histories.read('a'), 0)).toMatchObject({
      possiblySent: 2,
      traceIds: ['t'],
      unknownAttempts: [{ code: 'TIMEOUT' }],
    });
  },
);

it('an intent that cannot be read is open, and the notice ends', async () => {
  const { keys } = redis.account();
  const intents = new JobHistories(client, keys);
  const attempt = { job: 'a', nonce: 'n' };
  await client.set(keys.noticeLock('a'), 'lock');
  await client.hset(keys.history, 'intent:a', '{');
  await client.hset(keys.ended, 'a', '{');
  expect(await intents.beginIntent(attempt, 'lock', 'w')).toBe('unknown');
  await intents.endIntent(attempt, 'accepted');
  await client.hdel(keys.ended, 'a');
  const run = { id: 'a', lockToken: 'lock', started: 1, addedAt: 7 };
  const end = { state: 'unknown', code: 'TIMEOUT', template: 'T', contacts: 2 } as const;
  const entry = { ...end, attempts: 1, possiblySent: 1, stage: 'sent' } as const;
  expect(await recordEnd(client, keys, run, entry, 0)).toBe('recorded');
  expect(await intents.hasOpenIntent('a')).toBe(false);
});
