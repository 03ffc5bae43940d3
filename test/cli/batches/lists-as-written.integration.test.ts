import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { listWorlds } from '../support/list-world.ts';

const { redis, file, world } = listWorlds();
let lists = 0;
const list = (text: string) => file(`list-${++lists}.csv`, text);
const numbers = (count: number, make = (index: number) => `0100000${1_000 + index}`) =>
  Array.from({ length: count }, (_, index) => make(index));

async function isEmpty(prefix: string): Promise<boolean> {
  // The secret of the account is no part of a list.
  return (await redis.keys(prefix)).every((key) => key.endsWith(':account'));
}

describe('the column with the numbers', () => {
  it('is not the one with the row numbers: such a list is refused', async () => {
    const { prefix, import: importing, contacts } = world();
    const text = `번호,이름\n${numbers(2_000, (index) => `${index + 1},김\n`).join('')}`;
    const { code, stdout, stderr } = await importing(list(text), ['--map', 'contact=번호']);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(
      /2,000 of 2,000 numbers are implausible \(row 2, 번호: expected 8 to 15 digits, got 1\)\. .*--allow-implausible/,
    );
    expect(await isEmpty(prefix)).toBe(true);
    const dry = await importing(list(text), ['--map', 'contact=번호', '--dry-run']);
    expect([dry.code, dry.stderr]).toEqual([1, expect.stringMatching(/implausible/)]);
    const stdin = await importing('-', ['--map', 'contact=번호'], Buffer.from(text));
    expect([stdin.code, await isEmpty(prefix)]).toEqual([2, true]);
    const flags = ['--map', 'contact=번호', '--allow-implausible'];
    expect((await importing(list(text), flags)).code).toBe(0);
    expect((await contacts())[0]).toEqual({ contact: '1' });
  });

  it('may have one percent of numbers that are none: these are refused', async () => {
    const { import: importing } = world();
    const text = `contact\n${numbers(99).join('\n')}\n123\n`;
    const { code, stdout } = await importing(list(text));
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^ {2}rejected +1, /m)]);
    const more = `contact\n${numbers(98).join('\n')}\n123\n`;
    expect((await importing(list(more), ['--batch', 'c'])).code).toBe(2);
  });
});

describe('cells as people write them', () => {
  it('the report says what to correct: the rejected rows alone only where the others were enqueued', async () => {
    const { import: importing } = world();
    const some = list('contact\n01000000001\nx\n');
    const only = /^Correct \S+\.rejected\.csv and import only that file\.$/m;
    const all = /^Correct the list and import it again\.$/m;
    for (const [text, flags, says, not] of [
      [some, ['--dry-run'], all, only],
      [list('contact\nx\n'), [], all, only],
      [some, ['--batch', 'c'], only, all],
    ] as const) {
      const { stdout } = await importing(text, flags);
      expect(stdout).toMatch(says);
      expect(stdout).not.toMatch(not);
    }
  });

  it('refused rows are grouped by reason, with a count and two examples', async () => {
    const cells = ['1E10', '1012345678', '2E10', '3E10', '01012345678'];
    const { stdout } = await world().import(list(`contact\n${cells.join('\n')}\n`));
    expect(stdout).toMatch(/^3 rows, such as row 2 and 4, contact: a spreadsheet converted/m);
    expect(stdout).toMatch(/^row 3, contact: .*leading zero/m);
  });
});

describe('rows and titles', () => {
  it('a title that stands twice is a fault only where the map names it', async () => {
    const text = 'contact,var1,Note,Note\n01000000001,Kim,a,b\n';
    const { import: importing, contacts } = world();
    expect((await importing(list(text))).code).toBe(0);
    const map = ['--map', 'contact=contact,var1=Note', '--batch', 'c'];
    const { code, stderr } = await importing(list(text), map);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/two of this title.* var1=3 or var1=4/),
    ]);
    const position = ['--map', 'contact=contact,var1=4', '--batch', 'c'];
    expect((await importing(list(text), [...position, '--again'])).code).toBe(0);
    expect(await contacts('c')).toEqual([{ contact: '01000000001', var1: 'b' }]);
  });

  it('a first line names the delimiter', async () => {
    for (const first of ['sep=;\n', 'sep=;\r\n', '\ufeffsep=;\n']) {
      const { import: importing, contacts } = world();
      const text = `${first}contact;var1\n01000000001;Kim\n12;Lee\n`;
      const flags = ['--allow-implausible'];
      expect((await importing(list(text), flags)).code).toBe(0);
      expect(await contacts()).toHaveLength(2);
    }
  });

  it('a delimiter that is given wins over such a line, which wins over the name of the file', async () => {
    for (const [name, first, flags] of [
      ['a.tsv', '', []],
      ['b.tsv.gz', '', []],
      ['c.csv', 'sep=,\n', ['--delimiter', 'TAB']],
      ['d.tsv', 'sep=;\n', ['--delimiter', 'TAB']],
      ['e.csv', 'sep=\t\n', []],
    ] as const) {
      const { import: importing, contacts } = world();
      const text = `${first}contact\tvar1\n01000000001\tKim\n`;
      const bytes = name.endsWith('gz') ? gzipSync(text) : text;
      expect((await importing(file(name, bytes), flags)).code).toBe(0);
      expect(await contacts()).toEqual([{ contact: '01000000001', var1: 'Kim' }]);
    }
  });

  it('a file that was cut is named', async () => {
    const { prefix, import: importing } = world();
    const cut = list('var1,contact\nKim,01000000001\nLee,01000000002\nPark,0100000');
    const { code, stderr } = await importing(cut);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/row 4, contact: .* got 7; the list ends here .* was cut off/),
    ]);
    expect(await isEmpty(prefix)).toBe(true);
    const between = list('contact,var1\n01000000001,Kim\n01000000002');
    const { stdout } = await importing(between);
    expect(stdout).toMatch(/row 3, row: .* was cut off/);
    expect(readFileSync(`${between}.rejected.csv`, 'utf8')).toContain('was cut off');
  });
});
