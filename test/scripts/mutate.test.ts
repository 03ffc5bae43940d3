import { describe, expect, it } from 'vitest';
import { mutantsOf, sample, seeded } from '../../scripts/mutation/mutate.ts';

const textsOf = (source: string) => mutantsOf('a.ts', source).map(({ text }) => text.trim());

describe('mutants', () => {
  it.each<[string, string, string[]]>([
    ['a comparison', 'if (a === b) {', ['if (a !== b) {', 'if (!(a === b)) {']],
    ['a condition', 'if (is(a)) return;', ['if (!(is(a))) return;']],
    ['a condition of a call', 'if (!is(a)) it.stop(b);', ['if (!(!is(a))) it.stop(b);']],
    ['a bound', 'return left < most;', ['return left <= most;']],
    [
      'each place in a line by itself',
      'x = a && b && c;',
      ['x = a || b && c;', 'x = a && b || c;'],
    ],
    [
      'Lua',
      "if count ~= 0 and redis.call('GET', key) then",
      [
        "if count == 0 and redis.call('GET', key) then",
        "if count ~= 0 or redis.call('GET', key) then",
      ],
    ],
    ['a command of Redis', "redis.call('PEXPIRE', hold, 5)", ["-- redis.call('PEXPIRE', hold, 5)"]],
    ['a call', 'this.#rest.clear();', ['// this.#rest.clear();']],
    ['an await', 'const it = await read();', ['const it = void read();']],
  ])('%s', (_name, source, expected) => {
    expect(textsOf(source)).toEqual(expected);
  });

  it('come from code only', () => {
    const source = [
      "import { a } from './a.ts';",
      '/**',
      ' * | true | and false |',
      ' */',
      '// a && b',
      '-- a and b',
      'export type A = true | false;',
      '  readonly on: true;',
      '  \'stalled: "doctor", and what is true\',',
    ].join('\n');
    expect(textsOf(source)).toEqual([]);
  });

  it('are drawn the same way for the same seed', () => {
    const items = Array.from({ length: 50 }, (_, index) => index);
    const drawn = sample(items, 5, seeded(7));
    expect(drawn).toHaveLength(5);
    expect(sample(items, 9, seeded(7)).slice(0, 5)).toEqual(drawn);
    expect(sample(items, 5, seeded(7))).toEqual(drawn);
    expect(sample(items, 5, seeded(8))).not.toEqual(drawn);
  });
});
