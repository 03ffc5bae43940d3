import { describe, expect, it } from 'vitest';
import { barChart } from '../../bench/report/chart.ts';
import { between } from '../../bench/report/page.ts';
import { summaryOf } from '../../bench/report/profile-summary.ts';
import { readOptions } from '../../bench/options.ts';

describe('a page', () => {
  const page = [
    'Before.',
    '<!-- figures: written by `npm run bench`, do not edit -->',
    'old',
    '<!-- figures: end -->',
    'After.',
  ].join('\n');

  it('gets new figures and keeps what people wrote', () => {
    const once = between(page, 'figures', 'new\n');
    expect(once).toMatch(
      /^Before\.\n<!-- figures: written[^\n]*-->\n\nnew\n\n<!-- figures: end -->\nAfter\.$/,
    );
    expect(between(once, 'figures', 'new')).toBe(once);
  });

  it('without the markers is an error', () => {
    expect(() => between(page, 'profiles', 'new')).toThrow('no markers for profiles');
  });
});

describe('a chart', () => {
  const bars = [
    { label: 'a & b <c>', value: 50, min: 40, max: 60, ours: false },
    { label: 'ours', value: 100, ours: true },
  ];
  const svg = barChart('Title', 'per second', bars, (value) => `${value}/s`);

  it('shows every value in figures, and says them in its description', () => {
    expect(svg).toContain('<desc id="description">a &amp; b &lt;c&gt;: 50/s; ours: 100/s</desc>');
    expect(svg).toContain('>50/s</text>');
    expect(svg).toContain('>100/s</text>');
  });

  it('draws bars from zero, in proportion', () => {
    const widths = [...svg.matchAll(/<rect x="310" y="\d+" width="([\d.]+)"/g)].map(([, width]) =>
      Number(width),
    );
    expect(widths).toHaveLength(2);
    expect((widths[0] ?? 0) / (widths[1] ?? 1)).toBeCloseTo(0.5, 2);
    expect(svg.match(/<path/g)).toHaveLength(1);
  });
});

describe('the summary of a profile', () => {
  const frame = (functionName: string, url: string) => ({
    functionName,
    url,
    scriptId: '1',
    lineNumber: 0,
    columnNumber: 0,
  });
  const nodes = [
    frame('(idle)', ''),
    frame('run', 'file:///x/node_modules/a/node_modules/@b/c/index.js'),
    frame('send', 'file:///x/dist/src/service/send-call.js'),
    frame('handle', 'file:///x/dist/workers/send/notice-job.js'),
    frame('(garbage collector)', ''),
    frame('writev', ''),
    frame('', 'node:internal/timers'),
  ].map((callFrame, index) => ({ id: index + 1, callFrame }));

  it('adds up the time of modules and functions, without what was idle', () => {
    const samples = [1, 2, 3, 4, 5, 6, 7, 3];
    const summary = summaryOf(
      { nodes, startTime: 0, endTime: 1, samples, timeDeltas: samples.map(() => 10) },
      10,
    );
    expect(Object.fromEntries(summary.modules)).toStrictEqual({
      'ours: src/service': 2 / 7,
      '@b/c': 1 / 7,
      'ours: workers': 1 / 7,
      'garbage collection': 1 / 7,
      'Node: writev (system call)': 1 / 7,
      'Node: timers': 1 / 7,
    });
    expect(summary.functions[0]).toStrictEqual(['send (ours: src/service)', 2 / 7]);
  });
});

describe('the options of a run', () => {
  it('are all legs but the soak, five rounds, and it writes', () => {
    const { legs, rounds, writes, quick } = readOptions([]);
    expect([rounds, writes, quick, legs.has('soak'), legs.has('singles')]).toStrictEqual([
      5,
      true,
      false,
      false,
      true,
    ]);
  });

  it.each([
    [['--quick'], ['counts'], false],
    [['--only', 'clients,latency'], ['clients', 'latency'], false],
  ])('%j', (args, legs, writes) => {
    const options = readOptions(args);
    expect([[...options.legs], options.writes]).toStrictEqual([legs, writes]);
  });

  it.each([
    [['--only', 'nothing']],
    [['--rounds', '0']],
    [['--unknown']],
    [['--quick', '--compare', 'bench/results.json']],
    [['--profile', '--compare', 'bench/results.json']],
  ])('%j is refused', (args) => {
    expect(() => readOptions(args)).toThrow(/--only|--rounds|--unknown|--compare/);
  });
});
