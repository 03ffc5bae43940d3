import { describe, expect, it } from 'vitest';
import { NAMES } from '../../bench/legs/single-sends.ts';
import { BARE, LIGHT_COMMANDS, PACKAGES } from '../../bench/legs/startup.ts';
import { figures } from '../../bench/report/figures.ts';
import { TARGETS, verdicts } from '../../bench/report/targets.ts';
import type { Machine } from '../../bench/harness/machine.ts';
import type { Results, Rounds } from '../../bench/results.ts';

const machine: Machine = {
  measuredOn: '2026-01-01',
  cpu: 'a processor',
  cores: 2,
  memoryGb: 4,
  system: 'linux',
  loadBefore: 0.1,
  node: '20.0.0',
  redis: '7.0.0',
  packages: { bullmq: '6.0.0' },
};

const at = (...rate: number[]): Rounds => ({
  rate,
  cpuUs: rate.map(() => 100),
  redisCpuUs: rate.map(() => 10),
  serviceCpuUs: rate.map(() => 1),
  peakMb: rate.map(() => 90),
});

/** A run in which every target is met exactly. */
const met: Results = {
  machine,
  rounds: 3,
  counts: [
    { what: 'Redis round trips a send', count: 1.02, atMost: 1.02 },
    { what: 'bytes in Redis a waiting contact', count: 20, atMost: 20 },
  ],
  singles: {
    [NAMES.axios]: at(1_000, 2_000, 1_000),
    [NAMES.bullUndici]: at(2_000, 4_000, 2_000),
    [NAMES.alone]: at(2_000, 4_000, 2_000),
    [NAMES.noop]: at(8_000, 16_000, 8_000),
    [NAMES.loop]: at(1_750, 3_500, 1_750),
    [NAMES.graphileUndici]: at(1_200, 2_400, 1_200),
    [NAMES.pgBoss]: at(500, 1_000, 500),
  },
  chunks: {
    [NAMES.axios]: at(100),
    [NAMES.chunks]: at(300),
    [NAMES.loop]: at(200),
    [NAMES.fastLoop]: at(300),
  },
  importing: { [NAMES.csvParse]: at(1_000), [NAMES.importer]: at(1_000) },
  importPeakMb: { million: 100, fourMillion: 110 },
  latency: {
    [NAMES.axios]: { p50Ms: [2, 4], p99Ms: [9, 9] },
    [NAMES.chunks]: { p50Ms: [2, 4], p99Ms: [9, 9] },
  },
  startup: {
    ms: {
      [BARE]: [80, 80],
      [PACKAGES.bullmq]: [200, 400],
      [PACKAGES.ours]: [260, 520],
      ...Object.fromEntries(LIGHT_COMMANDS.map((name, at) => [name, [150 - at, 150 - at]])),
    },
    workerMb: { idle: [90, 91], loaded: [120, 121] },
  },
  pages: [
    { page: '/', jobs: 1_000, medianMs: 5, worstMs: 900 },
    { page: '/', jobs: 1_000_000, medianMs: 5, worstMs: 20 },
    { page: '/batches', jobs: 1_000_000, medianMs: 5, worstMs: 300 },
  ],
};

describe('the targets', () => {
  it('are fourteen, and each is measured', () => {
    expect(TARGETS).toHaveLength(14);
    for (const { target, reached, met: isMet } of verdicts(met)) {
      expect([target.work, target.reference, reached?.median, isMet]).toStrictEqual([
        target.work,
        target.reference,
        expect.any(Number),
        true,
      ]);
    }
  });

  it('are missed by a little less, and the table shows by how much', () => {
    const singles = { ...met.singles, [NAMES.alone]: at(1_950, 3_900, 1_950) };
    const missed = verdicts({ ...met, singles }).filter(({ met: isMet }) => isMet === false);
    expect(missed.map(({ target }) => target.reference)).toContain(NAMES.axios);
    const text = figures({ ...met, singles });
    expect(text).toMatch(/BullMQ \+ axios \| ≥ 2 x \| \*\*1.95 x\*\* .*missed by 0.05 x/);
  });

  it('look at the slowest page where a million jobs wait, and at no other run', () => {
    const row = (results: Results) =>
      verdicts(results).find(({ target }) => target.work.startsWith('slowest page'));
    expect(row(met)?.reached?.median).toBe(300);
    const { pages = [] } = met;
    expect(row({ ...met, pages: pages.slice(0, 1) })?.reached).toBeUndefined();
  });

  it('look at the slowest light command, and the figures show all of them', () => {
    const [first = '', ...others] = LIGHT_COMMANDS;
    const ms = { ...met.startup?.ms, [first]: [151], [others[0] ?? '']: [10] };
    const startup = { ms, workerMb: { idle: [90, 92], loaded: [120] } };
    const row = verdicts({ ...met, startup }).find(({ target }) => target.work.includes('command'));
    expect([row?.reached?.median, row?.met]).toEqual([151, false]);
    const text = figures({ ...met, startup });
    for (const name of LIGHT_COMMANDS) expect(text).toContain(`| ${name} |`);
    expect(text).toContain('| idle | 91 | 90 to 92 |');
  });

  it('that were not measured say so, and are neither met nor missed', () => {
    for (const { reached, met: isMet } of verdicts({ machine, rounds: 1 })) {
      expect([reached, isMet]).toStrictEqual([undefined, undefined]);
    }
    expect(figures({ machine, rounds: 1 })).toContain('not measured');
  });
});
