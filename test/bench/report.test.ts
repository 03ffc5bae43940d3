import { describe, expect, it } from 'vitest';
import { between } from '../../bench/report/page.ts';
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

  it.each([[['--only', 'nothing']], [['--rounds', '0']], [['--unknown']]])(
    '%j is refused',
    (args) => {
      expect(() => readOptions(args)).toThrow(/--only|--rounds|--unknown/);
    },
  );
});
