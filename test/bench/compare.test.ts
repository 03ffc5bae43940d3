import { describe, expect, it } from 'vitest';
import { changes, changeText, readResults } from '../../bench/report/compare.ts';
import type { Machine } from '../../bench/harness/machine.ts';
import type { Results } from '../../bench/results.ts';

const run = (rate: readonly number[], cpuUs: readonly number[]): Results => ({
  machine: { cores: 2 } as Machine,
  rounds: rate.length,
  singles: { ours: { rate, cpuUs, redisCpuUs: [], serviceCpuUs: [], peakMb: [] } },
});

describe('the comparison of two runs', () => {
  it('shows what changed by more than the rounds differ', () => {
    const found = changes(run([100, 110, 120], [50, 52]), run([130, 140, 150], [51, 60]));
    expect(found).toEqual([{ what: 'singles, ours, rate', before: 110, after: 140 }]);
    expect(changeText(found)).toContain('| singles, ours, rate | 110 | 140 | +27.3 % |');
  });

  it('shows a decrease', () => {
    const found = changes(run([130, 140], [50]), run([100, 110], [50]));
    expect(changeText(found)).toContain('-');
    expect(found).toMatchObject([{ before: 135, after: 105 }]);
  });

  it('reads the published results, which have not changed since themselves', async () => {
    const published = await readResults('bench/results.json');
    expect(changes(published, published)).toEqual([]);
    const { singles = {} } = published;
    const faster = Object.fromEntries(
      Object.entries(singles).map(([name, rounds]) => [
        name,
        { ...rounds, rate: rounds.rate.map((rate) => 1_000 * rate) },
      ]),
    );
    expect(changes(published, { ...published, singles: faster }).map(({ what }) => what)).toEqual(
      Object.keys(singles).map((name) => `singles, ${name}, rate`),
    );
  });

  it.each(['bench/no-such-file.json', 'package.json', 'README.md'])(
    'refuses %s, which contains no results',
    async (file) => {
      await expect(readResults(file)).rejects.toThrow(
        new RangeError(`--compare: expected the results of a run in ${file}`),
      );
    },
  );

  it('leaves out what one of them did not measure', () => {
    expect(changes({ machine: {} as Machine, rounds: 1 }, run([1], [1]))).toEqual([]);
  });

  it('says so where nothing changed', () => {
    expect(changeText(changes(run([100], [50]), run([100], [50])))).toMatch(/No figure changed/);
  });
});
