import { afterEach, describe, expect, it } from 'vitest';
import type { SeenAttempt } from '../../src/contracts/outcome.ts';
import { readTraffic, TrafficTally } from '../../src/traffic/traffic.ts';
import { testRedis } from '../support/redis.ts';

const ACCEPTED: SeenAttempt = { lane: 'notices', outcome: 'accepted', contacts: 1, requests: 1 };
const UNKNOWN: SeenAttempt = { lane: 'chunks', outcome: 'unknown', contacts: 500, requests: 2 };
const MINUTE = 60_000;

describe('the traffic record', () => {
  const redis = testRedis();
  afterEach(() => redis.cleanup());
  const world = async () => {
    const { keys } = redis.account();
    const [seconds] = await redis.client.time();
    const now = Number(seconds) * 1_000;
    const write = async (at: number, ...attempts: readonly SeenAttempt[]) => {
      const tally = new TrafficTally();
      for (const attempt of attempts) tally.attempt(attempt);
      await tally.write(redis.client, keys, at);
    };
    return { keys, now, write, read: () => readTraffic(redis.client, keys) };
  };

  it('adds up what several workers counted', async () => {
    const { now, write, read } = await world();
    await write(now, ACCEPTED, { ...ACCEPTED, contacts: 10 });
    await write(now, UNKNOWN, { ...ACCEPTED, outcome: 'hold', contacts: 7 });
    const { minutes, total } = await read();
    expect(total).toEqual({
      notices: { requests: 3, accepted: 11 },
      chunks: { requests: 2, accepted: 0 },
    });
    expect(minutes).toHaveLength(180);
    expect(minutes.reduce((sum, { notices }) => sum + notices.accepted, 0)).toBe(11);
  });

  it('keeps minutes apart for three hours', async () => {
    const { now, write, read } = await world();
    for (const [ago, count] of [
      [0, 1],
      [1, 2],
      [61, 3],
      [178, 4],
      [181, 100],
    ] as const) {
      await write(now - ago * MINUTE, { ...ACCEPTED, contacts: count });
    }
    const { minutes, total } = await read();
    const of = (ago: number) =>
      minutes.find(({ at }) => at === Math.floor(now / MINUTE - ago) * MINUTE)?.notices.accepted;
    expect([0, 1, 2, 61, 178].map(of)).toEqual([1, 2, 0, 3, 4]);
    expect(total.notices.accepted).toBe(10);
  });

  it('is one key an hour, which expires; without counts nothing is written', async () => {
    const { keys, now, write } = await world();
    await write(now);
    expect(await redis.keys()).toEqual([]);
    await write(now, ACCEPTED, UNKNOWN);
    expect(await redis.keys()).toEqual([keys.traffic(Math.floor(now / 3_600_000))]);
    const [key = ''] = await redis.keys();
    expect(await redis.client.pttl(key)).toBeGreaterThan(180 * MINUTE);
    expect(await redis.client.pttl(key)).toBeLessThanOrEqual(240 * MINUTE);
  });
});

it('a heartbeat has what was sent since the one before the last', () => {
  const tally = new TrafficTally();
  tally.attempt(ACCEPTED);
  tally.attempt(UNKNOWN);
  tally.attempt({ ...ACCEPTED, contacts: 10 });
  expect(tally.takeRecent()).toMatchObject({ requests: 4, contacts: 11 });
  tally.attempt(ACCEPTED);
  expect(tally.takeRecent()).toMatchObject({ requests: 5, contacts: 12 });
  expect(tally.takeRecent()).toMatchObject({ requests: 1, contacts: 1 });
  expect(tally.takeRecent()).toMatchObject({ requests: 0, contacts: 0 });
});
