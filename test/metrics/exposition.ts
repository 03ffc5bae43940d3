import { expect } from 'vitest';
import type { MetricRows } from '../../src/metrics/registry.ts';

/** One sample of a text of metrics. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * Reads the text form of Prometheus, strictly: a line that is no sample, a metric whose lines are not
 * together, or a series that comes twice is an error.
 */
export function readExposition(text: string): {
  readonly samples: readonly Sample[];
  readonly types: ReadonlyMap<string, string>;
  /** The sample of a name with at least these labels. */
  readonly value: (name: string, labels?: Readonly<Record<string, string>>) => number | undefined;
} {
  const samples: Sample[] = [];
  const types = new Map<string, string>();
  const series = new Set<string>();
  let metric = '';
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('# HELP ')) continue;
    const [, typed = '', type = ''] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (typed !== '') {
      if (types.has(typed)) throw new Error(`the lines of ${typed} are not together`);
      types.set(typed, type);
      metric = typed;
      continue;
    }
    const [, name, list = '', value] =
      /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`no sample: ${line}`);
    if (name.replace(/_(?:bucket|sum|count)$/, '') !== metric && name !== metric) {
      throw new Error(`${name} stands under ${metric}`);
    }
    const key = line.slice(0, line.lastIndexOf(' '));
    if (series.has(key)) throw new Error(`twice: ${key}`);
    series.add(key);
    const labels = Object.fromEntries(
      [...list.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)].map(([, label, text]) => [
        label ?? '',
        text ?? '',
      ]),
    );
    samples.push({ name, labels, value: Number(value) });
  }
  return {
    samples,
    types,
    value: (name, wanted = {}) =>
      samples.find(
        (sample) =>
          sample.name === name &&
          Object.entries(wanted).every(([label, text]) => sample.labels[label] === text),
      )?.value,
  };
}

/**
 * Expects each metric of a table with its type and its labels, and no value beyond the closed sets.
 *
 * @returns the names of all metrics of ours
 */
export function metricsLike(rows: MetricRows, text: string): string[] {
  const { samples, types } = readExposition(text);
  for (const [name, row] of Object.entries(rows)) {
    const own = samples.filter((one) => one.name.replace(/_(?:bucket|sum|count)$/, '') === name);
    const all = own.length > 0 ? own : samples.filter((one) => one.name === name);
    expect([name, types.get(name), all.length > 0]).toEqual([name, row.type, true]);
    for (const { labels } of all) {
      const { le: _le, ...others } = labels;
      expect(Object.keys(others).sort()).toEqual(Object.keys(row.labels ?? {}).sort());
      for (const [label, value] of Object.entries(others)) {
        const allowed = row.labels?.[label];
        const isKnown = typeof allowed === 'string' || allowed?.includes(value);
        expect([name, label, isKnown]).toEqual([name, label, true]);
      }
    }
  }
  return [...types.keys()].filter((name) => name.startsWith('notices_')).sort();
}
