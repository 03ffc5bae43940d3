import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

/*
 * The page and the tests of this folder name the same rows. A row of the page is
 * `| id | documented | what we do |`; the title of a test begins with the ids of its rows, each in brackets.
 */
const PAGE = 'docs/service-coverage.md';
const FOLDER = 'test/service-coverage';
const OWN_FILE = 'coverage-page.test.ts';

interface Row {
  readonly id: string;
  readonly cells: readonly string[];
}

interface Title {
  readonly file: string;
  readonly ids: readonly string[];
}

const rows: readonly Row[] = readFileSync(PAGE, 'utf8')
  .split('\n')
  .flatMap((line) => {
    const cells = line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim());
    const id = /^`([a-z0-9-]+)`$/.exec(cells[0] ?? '')?.[1];
    return id === undefined ? [] : [{ id, cells }];
  });

const files = readdirSync(FOLDER).filter((file) => file.endsWith('.test.ts') && file !== OWN_FILE);

/** The tests of a file as they are run: what stands in a comment is none. */
function sourceOf(file: string): string {
  return readFileSync(path.join(FOLDER, file), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
}

const TEST = /^ *it\(\s*(['"])((?:\[[a-z0-9-]+\] )+).+?\1,/gm;

const titles: readonly Title[] = files.flatMap((file) =>
  [...sourceOf(file).matchAll(TEST)].map(([, , ids = '']) => ({
    file,
    ids: ids.trim().slice(1, -1).split('] ['),
  })),
);

describe('docs/service-coverage.md', () => {
  it('has a row for each statement, each once', () => {
    expect(rows.length).toBeGreaterThan(70);
    const ids = rows.map(({ id }) => id);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    expect(rows.filter(({ cells }) => cells.length !== 3 || cells.includes(''))).toEqual([]);
  });

  it('has a test for every row, and a row for every test', () => {
    const listed = rows.map(({ id }) => id).sort();
    const carried = [...new Set(titles.flatMap(({ ids }) => ids))].sort();
    expect(carried).toEqual(listed);
  });
});

describe('the tests of this folder', () => {
  it('all carry ids, and are all run', () => {
    for (const file of files) {
      const source = sourceOf(file);
      const tests = [...source.matchAll(/^ *(?:it|test|xit|fit)\b/gm)].length;
      expect({ file, tests }).toEqual({
        file,
        tests: titles.filter((title) => title.file === file).length,
      });
      expect(source).not.toMatch(/\.(skip|todo|only|fails|skipIf|runIf)\b/);
    }
    expect(titles.length).toBeGreaterThan(50);
  });
});
