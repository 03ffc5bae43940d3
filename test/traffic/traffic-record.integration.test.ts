import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { startRedisServer } from '../../scripts/redis/redis-server.ts';
import type { SeenAttempt } from '../../src/contracts/seen-attempt.ts';
import { countAttempt, COUNTERS, LAYOUT, noCounts } from '../../src/traffic/counters.ts';
import { readTraffic, TRAFFIC_MINUTES } from '../../src/traffic/read-traffic.ts';
import { addCounts, TrafficTally } from '../../src/traffic/tally.ts';
import { keysOf, type Keys } from '../../src/redis/keys.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';

const ACCEPTED: SeenAttempt = {
  lane: 'notices',
  outcome: 'accepted',
  contacts: 1,
  requests: 1,
  answerMs: 40,
  waitedMs: 3,
};
const UNKNOWN: SeenAttempt = {
  lane: 'chunks',
  outcome: 'unknown',
  contacts: 500,
  requests: 2,
};
const MINUTE = 60_000;

describe('the traffic record', () => {
  const redis = testRedis();
  let keys: Keys;
  const fresh = () => (keys = keysOf(redis.freshPrefix(), 'default'));

  /** Writes some attempts as if they had ended at that moment. */
  async function write(at: number, attempts: readonly SeenAttempt[]): Promise<void> {
    const counts = noCounts();
    for (const attempt of attempts) countAttempt(counts, attempt);
    const commands = redis.client.multi();
    addCounts(commands, keys, counts, at);
    await commands.exec();
  }

  const times = (count: number) => Array.from({ length: count }, () => ACCEPTED);

  async function now(): Promise<number> {
    const [seconds, micros] = await redis.client.time();
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  }

  /** Commands that Redis ran for one read, by name. */
  async function commandsOf(run: () => Promise<unknown>): Promise<string[]> {
    const monitor = await redis.connect().monitor();
    const seen: string[] = [];
    monitor.on('monitor', (_time: string, [name = '', key = '']: string[]) => {
      if (name.toLowerCase() === 'time' || key.startsWith(keys.bullPrefix)) {
        seen.push(name.toLowerCase());
      }
    });
    await run();
    // MONITOR is in order: when this one is seen, so is everything before it.
    await redis.client.get(`${keys.bullPrefix}:end`);
    await until(() => seen.at(-1) === 'get', { what: 'the end of the commands' });
    monitor.disconnect();
    return seen.slice(0, -1);
  }

  afterEach(() => redis.cleanup());

  it('adds up what several workers counted', async () => {
    fresh();
    const [one, other] = [new TrafficTally(), new TrafficTally()];
    one.attempt(ACCEPTED);
    one.attempt({ ...ACCEPTED, answerMs: 45, contacts: 10 });
    one.tokenWait(0);
    other.attempt(UNKNOWN);
    other.attempt({ lane: 'notices', outcome: 'hold', contacts: 1, requests: 1, answerMs: 12 });
    for (const tally of [one, other, one]) await tally.write(redis.client, keys);

    const { total, series, recent } = await readTraffic(redis.client, keys, { minutes: 10 });
    expect(total).toMatchObject({
      requests: 5,
      attempts: { accepted: 2, unknown: 1, hold: 1, rejected: 0, retry: 0 },
      contacts: { accepted: 11, unknown: 500, hold: 1 },
      lanes: {
        notices: { accepted: 2, contactsAccepted: 11 },
        chunks: { accepted: 0, contactsAccepted: 0 },
      },
      answerMs: { count: 3 },
      queueWaitMs: { count: 2 },
      tokenWaitMs: { count: 1 },
    });
    expect(series).toHaveLength(10);
    expect(recent).toHaveLength(60);
    expect(series.reduce((sum, { requests }) => sum + requests, 0)).toBe(5);
    expect(recent.reduce((sum, { requests }) => sum + requests, 0)).toBe(5);
  });

  it('keeps minutes separate, and merges them into points', async () => {
    fresh();
    const at = await now();
    for (const [ago, count] of [
      [0, 1],
      [1, 2],
      [2, 3],
      [61, 4],
      [118, 5],
      [120, 100],
    ] as const) {
      await write(at - ago * MINUTE, times(count));
    }
    const fine = await readTraffic(redis.client, keys, { minutes: 120 });
    const of = (ago: number) =>
      fine.series.find((point) => point.at === Math.floor(at / MINUTE - ago) * MINUTE)?.attempts;
    expect(fine.series).toHaveLength(120);
    expect([0, 1, 2, 3, 61, 118].map((ago) => of(ago)?.accepted)).toEqual([1, 2, 3, 0, 4, 5]);
    expect(fine.total.attempts.accepted).toBe(15);

    const coarse = await readTraffic(redis.client, keys, { minutes: 120, minutesPerPoint: 60 });
    expect(coarse.series.map(({ attempts }) => attempts.accepted)).toEqual([9, 6]);
    const [early, late] = coarse.series;
    expect(early?.spanMs).toBe(60 * MINUTE);
    expect(late?.spanMs).toBeLessThanOrEqual(60 * MINUTE);
    expect(late?.spanMs).toBeGreaterThan(59 * MINUTE);
  });

  it('takes the present rate from the last complete half minute', async () => {
    fresh();
    const at = await now();
    for (let ago = 10_000; ago <= 120_000; ago += 10_000) await write(at - ago, times(1));
    await write(at - 300_000, [UNKNOWN]);
    const traffic = await readTraffic(redis.client, keys, { minutes: 1 });
    expect(traffic.now.spanMs).toBe(30_000);
    expect(traffic.now.attempts).toMatchObject({ accepted: 3, unknown: 0 });
  });

  it('reads with two commands for any period', async () => {
    fresh();
    await write(await now(), times(1));
    for (const minutes of [1, TRAFFIC_MINUTES, 1e9]) {
      const commands = await commandsOf(() => readTraffic(redis.client, keys, { minutes }));
      expect(commands).toEqual(['time', 'mget']);
    }
  });

  it('is written with the same few commands for any counts, and with none without counts', async () => {
    fresh();
    const tally = new TrafficTally();
    const written = () => commandsOf(() => tally.write(redis.client, keys));
    expect(await written()).toEqual([]);
    for (let count = 0; count < 50; count++) tally.attempt({ ...ACCEPTED, answerMs: count * 100 });
    tally.attempt(UNKNOWN);
    expect(await written()).toEqual(['time', 'bitfield', 'pexpire', 'bitfield', 'pexpire']);
    expect(await written()).toEqual([]);
    const { total } = await readTraffic(redis.client, keys, { minutes: 2 });
    expect(total.attempts).toMatchObject({ accepted: 50, unknown: 1 });
  });

  it('keeps what Redis refused, and writes it the next time', async () => {
    fresh();
    const server = await startRedisServer();
    const client = new Redis(server.url);
    try {
      const tally = new TrafficTally();
      tally.attempt(ACCEPTED);
      await client.config('SET', 'maxmemory', '1');
      await expect(tally.write(client, keys)).rejects.toThrow(/EXECABORT|OOM/);
      tally.attempt(UNKNOWN);
      await client.config('SET', 'maxmemory', '0');
      await tally.write(client, keys);
      const { total } = await readTraffic(client, keys, { minutes: 2 });
      expect(total.attempts).toMatchObject({ accepted: 1, unknown: 1 });
    } finally {
      client.disconnect();
      await server.close();
    }
  });

  it('gives every block a lifetime, and keeps a full counter full', async () => {
    fresh();
    const at = await now();
    await write(at, [{ ...ACCEPTED, contacts: 0xffff_ffff }]);
    await write(at, [{ ...ACCEPTED, contacts: 7 }]);
    const written = (await redis.keys()).filter((key) => key.includes(':traffic:'));
    expect(written).toHaveLength(2);
    const lives = await Promise.all(written.map((key) => redis.client.pttl(key)));
    for (const life of lives) expect(life).toBeGreaterThan(20 * MINUTE);
    expect(Math.max(...lives)).toBeLessThanOrEqual(49 * 60 * MINUTE);
    const { total } = await readTraffic(redis.client, keys, { minutes: 2 });
    expect(total.contacts.accepted).toBe(0xffff_ffff);
  });

  it('contains what workers of the version before count, and have counted', async () => {
    fresh();
    const at = await now();
    await write(at, [{ ...ACCEPTED, possiblySentTwice: 3 }]);
    // That version had the same counters except the last two.
    const counts = noCounts();
    countAttempt(counts, ACCEPTED);
    for (const [seconds, block] of [
      [10, 600_000],
      [60, 3_600_000],
    ] as const) {
      const interval = Math.floor(at / (seconds * 1_000)) % 60;
      const key = keys.traffic(1, seconds * 1_000, Math.floor(at / block));
      const bytes = Buffer.alloc(77 * 4);
      for (const [position, count] of counts.slice(0, 77).entries()) {
        bytes.writeUInt32BE(count, position * 4);
      }
      await redis.client.setrange(key, interval * bytes.length, bytes);
    }
    const { total, recent } = await readTraffic(redis.client, keys, { minutes: 10 });
    expect(total).toMatchObject({
      requests: 2,
      possiblySentTwice: 3,
      attempts: { accepted: 2 },
      answerMs: { count: 2 },
    });
    expect(recent.reduce((sum, { requests }) => sum + requests, 0)).toBe(2);
  });

  it('is empty and without percentiles when nothing was written', async () => {
    fresh();
    const { total, now: current } = await readTraffic(redis.client, keys, { minutes: 60 });
    expect(total.requests + current.requests).toBe(0);
    expect(total).not.toHaveProperty('answerMs');
  });
});

it('the order of the counters is that of its layout', () => {
  // Change LAYOUT with this: workers and readers of two versions may run side by side.
  expect([LAYOUT.version, COUNTERS.length]).toEqual([2, 79]);
  expect(COUNTERS.slice(0, 8)).toEqual([
    'attempts:notices:accepted',
    'attempts:notices:rejected',
    'attempts:notices:retry',
    'attempts:notices:hold',
    'attempts:notices:unknown',
    'attempts:notices:expired',
    'attempts:notices:cancelled',
    'attempts:chunks:accepted',
  ]);
  expect(COUNTERS.slice(28, 31)).toEqual(['requests:notices', 'requests:chunks', 'answer:0']);
  expect(COUNTERS.slice(-3)).toEqual([
    'tokenWait:12',
    'possiblySentTwice:notices',
    'possiblySentTwice:chunks',
  ]);
});
