import { describe, expect, it } from 'vitest';
import { scalingPage } from '../../bench/report/scaling-page.ts';
import {
  costsOf,
  endOfQueue,
  inFlight,
  needOf,
  type ContactCosts,
  type Need,
  type Way,
} from '../../bench/report/scaling.ts';
import type { Machine } from '../../bench/harness/machine.ts';
import type { Results, Rounds, SharedRounds } from '../../bench/results.ts';
import { sharedBy, SHARERS } from '../../bench/work.ts';

const cpu = (...cpuUs: number[]): Rounds => ({
  rate: [],
  cpuUs,
  redisCpuUs: [],
  serviceCpuUs: [],
  peakMb: [],
});

const shared = (figures: Partial<SharedRounds>): SharedRounds => ({
  rate: [1],
  cpuUs: [1],
  redisCpuUs: [70],
  inBytes: [900],
  outBytes: [400],
  queueingCpuUs: [30],
  queueingBytes: [700],
  requests: [1],
  serviceBytes: [500],
  ...figures,
});

const nothing: Results = { machine: {} as Machine, rounds: 1 };

const growth = (kind: 'waiting' | 'delayed', jobs: number, bytesEach: number) => ({
  kind,
  jobs,
  rate: 1,
  cpuUs: 1,
  redisCpuUs: 1,
  bytesEach,
});

const measured: Results = {
  ...nothing,
  singles: {
    'notice-queue, one contact a request': cpu(180, 220, 200),
    'BullMQ + undici': cpu(1_000),
  },
  chunks: { 'notice-queue': cpu(1) },
  counts: [{ what: 'bytes in Redis a waiting contact', count: 20 }],
  growth: [
    growth('waiting', 1_000, 990),
    growth('waiting', 1_000_000, 950),
    growth('waiting', 100_000, 970),
    growth('delayed', 2_000_000, 5_000),
  ],
  sharing: {
    [sharedBy(SHARERS.single, 4)]: shared({ redisCpuUs: [1] }),
    [sharedBy(SHARERS.single, 64)]: shared({ redisCpuUs: [60, 70, 90] }),
    [sharedBy(SHARERS.chunks, 4)]: shared({
      redisCpuUs: [0.2],
      queueingCpuUs: [0.15],
      inBytes: [2],
      outBytes: [18],
      queueingBytes: [20],
      requests: [0.001],
      serviceBytes: [75],
    }),
  },
};

const ALONE: ContactCosts = {
  workerUs: 200,
  queueingUs: 30,
  sendingUs: 70,
  redisBytes: 2_000,
  storedBytes: 950,
  requests: 1,
  serviceBytes: 500,
};
const CHUNKS: ContactCosts = {
  workerUs: 1,
  queueingUs: 0.15,
  sendingUs: 0.2,
  redisBytes: 40,
  storedBytes: 20,
  requests: 0.001,
  serviceBytes: 75,
};

describe('the costs of a contact', () => {
  it.each<[Way, ContactCosts]>([
    ['alone', ALONE],
    ['chunks', CHUNKS],
  ])('%s: medians of the largest fleet, and the memory of the longest queue', (way, costs) => {
    expect(costsOf(measured, way)).toStrictEqual(costs);
  });

  it.each<Way>(['alone', 'chunks'])('%s: all are missing where nothing was measured', (way) => {
    expect([...new Set(Object.values(costsOf(nothing, way)))]).toStrictEqual([Number.NaN]);
  });
});

describe('what contacts need', () => {
  it.each<[string, ContactCosts, number, Need]>([
    [
      'a thousand alone a second',
      ALONE,
      3_600_000,
      {
        contactsPerSecond: 1_000,
        requestsPerSecond: 1_000,
        workerCores: 0.2 / 0.7,
        redisCores: 0.1 / 0.7,
        queues: 1,
        waitingBytes: 3_420_000_000,
        redisBits: 16_000_000,
        serviceBits: 4_000_000,
      },
    ],
    [
      'twenty thousand alone a second: more than the Redis of one account',
      ALONE,
      72_000_000,
      {
        contactsPerSecond: 20_000,
        requestsPerSecond: 20_000,
        workerCores: 4 / 0.7,
        redisCores: 2 / 0.7,
        queues: 3,
        waitingBytes: 68_400_000_000,
        redisBits: 320_000_000,
        serviceBits: 80_000_000,
      },
    ],
    [
      'the same in chunks',
      CHUNKS,
      72_000_000,
      {
        contactsPerSecond: 20_000,
        requestsPerSecond: 20,
        workerCores: 0.02 / 0.7,
        redisCores: 0.007 / 0.7,
        queues: 1,
        waitingBytes: 1_440_000_000,
        redisBits: 6_400_000,
        serviceBits: 12_000_000,
      },
    ],
  ])('%s', (_, costs, hourly, need) => {
    const found = needOf(costs, hourly);
    expect(Object.keys(found)).toStrictEqual(Object.keys(need));
    for (const name of Object.keys(need) as (keyof Need)[]) {
      expect([name, found[name]]).toStrictEqual([name, expect.closeTo(need[name], 6)]);
    }
  });

  it.each([
    ['alone', ALONE, 7_000],
    ['chunks', CHUNKS, 2_000_000],
  ])('%s: the queue of one account ends where its Redis is as busy as planned', (_, costs, end) => {
    expect(endOfQueue(costs)).toBeCloseTo(end, 6);
  });

  it.each([
    [1_000, 200, 200],
    [28, 500, 14],
    [0, 500, 0],
  ])('%d requests a second that take %d ms: %d in flight', (perSecond, ms, requests) => {
    expect(inFlight(perSecond, ms)).toBe(requests);
  });
});

describe('the page', () => {
  const NAMES = ['constants', 'calculation', 'queue', 'flight'];
  const page = [
    'Before.',
    ...NAMES.flatMap((name) => [
      `<!-- ${name}: written by \`npm run docs\`, do not edit -->`,
      'old',
      `<!-- ${name}: end -->`,
    ]),
    'After.',
  ].join('\n');

  it.each([
    '| CPU of a worker process, µs | 200 | 1 |',
    '| requests to the service | 1 | < 0.01 |',
    '| 1,000,000 | notices alone | 278 | 278 | 0.079 | 0.04 | 1 | 906 MiB | 4.4 Mbit/s | 1.1 Mbit/s |',
    '| 100,000,000 | notices alone | 27,800 | 27,800 | 7.9 | 4 | 4 | 88 GiB | 444 Mbit/s | 111 Mbit/s |',
    '| 100,000,000 | chunks of 1,000 | 27,800 | 28 | 0.04 | 0.014 | 1 | 1.9 GiB | 8.9 Mbit/s | 17 Mbit/s |',
    '| notices alone | 7,000 | 25,200,000 | 10,000 |',
    '| 100,000,000 | notices alone | 556 (18) | 2,780 (87) | 13,900 (435) |',
    '| 10,000,000 | chunks of 1,000 | 0.056 (1) | 0.28 (1) | 1.4 (1) |',
  ])('has the row %s', (row) => {
    expect(scalingPage(page, measured).split('\n')).toContain(row);
  });

  it('keeps what people wrote, and the tables as they are', () => {
    const text = scalingPage(page, measured);
    expect(text).toMatch(/^Before\.\n[^]*\nAfter\.$/);
    expect(text.match(/<!-- prettier-ignore-start -->/g)).toHaveLength(NAMES.length);
    expect(text).not.toContain('old');
    expect(scalingPage(text, measured)).toBe(text);
  });

  it('says what is not measured yet, and shows the rest', () => {
    const { sharing: _, ...rest } = measured;
    const rows = scalingPage(page, rest).split('\n');
    expect(rows).toContain('| CPU of a worker process, µs | 200 | 1 |');
    const missing = Array.from({ length: 2 }, () => 'not measured yet').join(' | ');
    expect(rows).toContain(`| CPU of Redis for sending, µs | ${missing} |`);
    expect(scalingPage(page, nothing)).not.toContain('NaN');
  });

  it('without the markers is an error', () => {
    expect(() => scalingPage('', measured)).toThrow('no markers for constants');
  });
});
