import { afterEach, describe, expect, it } from 'vitest';
import type { SeenAttempt } from '../../src/contracts/seen-attempt.ts';
import { COUNTERS, LAYOUT } from '../../src/ops/traffic/counters.ts';
import { readTraffic, TRAFFIC_MINUTES } from '../../src/ops/traffic/read-traffic.ts';
import { TrafficTally } from '../../src/ops/traffic/tally.ts';
import { beat, endHeartbeat } from '../../src/queue/heartbeat.ts';
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

  /** Writes what a tally holds as if a heartbeat came at that moment. */
  async function flush(tally: TrafficTally, at: number): Promise<void> {
    const commands = redis.client.multi();
    tally.flush().ride(commands, at);
    await commands.exec();
  }

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
    const at = await now();
    const [one, other] = [new TrafficTally(keys), new TrafficTally(keys)];
    one.attempt(ACCEPTED);
    one.attempt({ ...ACCEPTED, answerMs: 45, contacts: 10 });
    one.tokenWait(0);
    other.attempt(UNKNOWN);
    other.attempt({ lane: 'notices', outcome: 'hold', contacts: 1, requests: 1, answerMs: 12 });
    await flush(one, at);
    await flush(other, at);
    await flush(one, at);

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
      tokenWaitMs: { count: 1, p99: expect.closeTo(1, 1) },
    });
    expect(series).toHaveLength(10);
    expect(recent).toHaveLength(60);
    expect(series.reduce((sum, { requests }) => sum + requests, 0)).toBe(5);
    expect(recent.reduce((sum, { requests }) => sum + requests, 0)).toBe(5);
  });

  it('keeps each minute apart, and merges them into points', async () => {
    fresh();
    const at = await now();
    const tally = new TrafficTally(keys);
    for (const [ago, times] of [
      [0, 1],
      [1, 2],
      [2, 3],
      [61, 4],
      [118, 5],
      [120, 100],
    ] as const) {
      for (let count = 0; count < times; count++) tally.attempt(ACCEPTED);
      await flush(tally, at - ago * MINUTE);
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

  it('tells what goes now from the half minute before the step that is not over', async () => {
    fresh();
    const at = await now();
    const tally = new TrafficTally(keys);
    for (let ago = 10_000; ago <= 120_000; ago += 10_000) {
      tally.attempt(ACCEPTED);
      await flush(tally, at - ago);
    }
    tally.attempt(UNKNOWN);
    await flush(tally, at - 300_000);
    const traffic = await readTraffic(redis.client, keys, { minutes: 1 });
    expect(traffic.now.spanMs).toBe(30_000);
    expect(traffic.now.attempts).toMatchObject({ accepted: 3, unknown: 0 });
  });

  it('asks Redis for two things, whatever the span', async () => {
    fresh();
    const tally = new TrafficTally(keys);
    tally.attempt(ACCEPTED);
    await flush(tally, await now());
    for (const minutes of [1, TRAFFIC_MINUTES, 1e9]) {
      const commands = await commandsOf(() => readTraffic(redis.client, keys, { minutes }));
      expect(commands).toEqual(['time', 'mget']);
    }
  });

  it('rides with the heartbeat at four commands, whatever was counted, and nothing without', async () => {
    fresh();
    const worker = { id: 'w', host: 'h', pid: 1, version: '0', active: 0, concurrency: 1 };
    const heartbeat = { ...worker, startedAt: 0, loopDelayMs: 0 };
    const tally = new TrafficTally(keys);
    const rides = async () =>
      (
        await commandsOf(() => beat(redis.client, keys, heartbeat, 5_000, tally.flush().ride))
      ).filter((name) => name === 'bitfield' || name === 'pexpire');
    expect(await rides()).toEqual([]);
    for (let count = 0; count < 50; count++) tally.attempt({ ...ACCEPTED, answerMs: count * 100 });
    tally.attempt(UNKNOWN);
    expect(await rides()).toEqual(['bitfield', 'pexpire', 'bitfield', 'pexpire']);
    expect(await rides()).toEqual([]);

    tally.attempt(UNKNOWN);
    await endHeartbeat(redis.client, keys, 'w', tally.flush().ride);
    const { total } = await readTraffic(redis.client, keys, { minutes: 2 });
    expect(total.attempts).toMatchObject({ accepted: 50, unknown: 2 });
  });

  it('takes back what could not be written, and counts it with the next heartbeat', async () => {
    fresh();
    const at = await now();
    const tally = new TrafficTally(keys);
    tally.attempt(ACCEPTED);
    const failed = tally.flush();
    failed.ride(redis.client.multi(), at);
    tally.attempt(UNKNOWN);
    failed.undo();
    await flush(tally, at);
    const { total } = await readTraffic(redis.client, keys, { minutes: 2 });
    expect(total.attempts).toMatchObject({ accepted: 1, unknown: 1 });
  });

  it('gives every block a lifetime, and keeps a full counter full', async () => {
    fresh();
    const at = await now();
    const tally = new TrafficTally(keys);
    tally.attempt({ ...ACCEPTED, contacts: 0xffff_ffff });
    await flush(tally, at);
    tally.attempt({ ...ACCEPTED, contacts: 7 });
    await flush(tally, at);
    const written = (await redis.keys()).filter((key) => key.includes(':traffic:'));
    expect(written).toHaveLength(2);
    const lives = await Promise.all(written.map((key) => redis.client.pttl(key)));
    for (const life of lives) expect(life).toBeGreaterThan(20 * MINUTE);
    expect(Math.max(...lives)).toBeLessThanOrEqual(49 * 60 * MINUTE);
    const { total } = await readTraffic(redis.client, keys, { minutes: 2 });
    expect(total.contacts.accepted).toBe(0xffff_ffff);
  });

  it('is empty where nothing was written, without percentiles', async () => {
    fresh();
    const { total, now: current } = await readTraffic(redis.client, keys, { minutes: 60 });
    expect(total.requests + current.requests).toBe(0);
    expect(total).not.toHaveProperty('answerMs');
  });
});

it('the order of the counters is that of its layout', () => {
  // Whoever changes this changes LAYOUT: workers and readers of two versions may run side by side.
  expect([LAYOUT, COUNTERS.length]).toEqual([1, 77]);
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
  expect(COUNTERS.slice(-1)).toEqual(['tokenWait:12']);
});
