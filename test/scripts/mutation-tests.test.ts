import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  importersOf,
  nearestWithin,
  testsByDistance,
} from '../../scripts/mutation/nearest-tests.ts';
import { keyOf, Results, summaryOf, type Result } from '../../scripts/mutation/results.ts';
import { TARGETS } from '../../scripts/mutation/targets.ts';

it('every code and every further test of a mutation run exists', () => {
  const root = new URL('../../', import.meta.url);
  const files = ['src', 'workers', 'test'].flatMap((folder) =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' }).map((file) =>
      path.posix.join(folder, file),
    ),
  );
  const tests = files.filter((file) => file.endsWith('.test.ts'));
  const missing = TARGETS.flatMap(({ code, wide }) => [
    ...(files.includes(code) ? [] : [code]),
    ...wide.filter((beginning) => !tests.some((test) => test.startsWith(beginning))),
  ]);
  expect(missing).toEqual([]);
});

describe('the tests nearest to a file', () => {
  const importers = importersOf(
    new Map([
      ['src/core.ts', ''],
      ['src/user.ts', "import { core } from './core.ts';"],
      ['src/types.ts', "import type { Core } from './core.ts';"],
      ['test/core.test.ts', "import {\n  core,\n} from '../src/core.ts';"],
      ['test/user.integration.test.ts', "import { user } from '../src/user.ts';"],
      ['test/types.test.ts', "import { types } from '../src/types.ts';"],
      ['test/setup.ts', "export { user } from '../src/user.ts';"],
      ['test/far.test.ts', "import './setup.ts';"],
    ]),
  );

  it('are found by the imports that execute it', () => {
    const found = testsByDistance(importers, 'src/core.ts', 4);
    expect([...found]).toEqual([
      ['test/core.test.ts', 1],
      ['test/user.integration.test.ts', 2],
      ['test/far.test.ts', 3],
    ]);
    expect([...testsByDistance(importers, 'src/core.ts', 1).keys()]).toEqual(['test/core.test.ts']);
  });

  it('are taken as long as there is time, and the nearest always', () => {
    const distances = new Map([
      ['long', 1],
      ['short', 1],
      ['far', 2],
    ]);
    const durations = new Map([
      ['long', 9],
      ['short', 1],
      ['far', 2],
    ]);
    expect(nearestWithin(distances, durations, 20)).toEqual(['short', 'long', 'far']);
    expect(nearestWithin(distances, durations, 4)).toEqual(['short', 'far']);
    expect(nearestWithin(distances, durations, 0)).toEqual(['short']);
  });
});

describe('the results of a mutation run', () => {
  const planted = (line: number, result: Result['result']): Result => ({
    file: 'src/a.ts',
    line,
    what: '=== → !==',
    text: `  if (a !== ${line}) {`,
    inScript: false,
    target: 'src/a.ts',
    result,
    seconds: 1,
  });

  it('are found again, until the file changes', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'notices-results-'));
    try {
      const file = path.join(folder, 'of', 'seed-1.jsonl');
      const one = planted(1, 'survived');
      const key = keyOf(one, 'source');
      new Results(file).add(key, one);
      new Results(file).add(key, { ...one, result: 'noticed', by: 'a.test.ts > b' });
      expect(new Results(file).of(key)).toMatchObject({ result: 'noticed', by: 'a.test.ts > b' });
      expect(new Results(file).of(keyOf(one, 'changed'))).toBeUndefined();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('are counted without those that are no code, and name what was not noticed', () => {
    const { text, share } = summaryOf([
      planted(1, 'noticed'),
      planted(2, 'noticed'),
      planted(3, 'noticed'),
      planted(4, 'survived'),
      planted(5, 'invalid'),
    ]);
    expect(share).toBe(0.75);
    expect(text).toContain('| all | 4 | 0 | 3 (75 %) | 1 |');
    expect(text).toContain('src/a.ts:4  === → !==\n    if (a !== 4) {');
  });
});
