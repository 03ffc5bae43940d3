import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { tierOf, TIERS } from './tiers.ts';

const ALL = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .map((file) => path.join('test', file))
  .filter((file) => file.endsWith('.ts'));
const TESTS = ALL.filter((file) => file.endsWith('.test.ts'));

/** What a unit test may not reach: whatever gives a Redis, or a process of the program. */
const BEYOND_UNIT = [
  'test/support/redis.ts',
  'test/support/fleet.ts',
  'scripts/redis/provide-redis.ts',
  'scripts/redis/redis-server.ts',
];

/** The files of this project that a file executes: its imports, and those of these. */
function reachedFrom(file: string, reached = new Set<string>()): Set<string> {
  if (reached.has(file) || !existsSync(file)) return reached;
  reached.add(file);
  // Imports of types alone execute nothing.
  const source = readFileSync(file, 'utf8').replaceAll(/^import type [^;]*;/gm, '');
  for (const [, to = ''] of source.matchAll(/(?:from|import\()\s*'(\.[^']+\.ts)'/g)) {
    reachedFrom(path.join(path.dirname(file), to), reached);
  }
  return reached;
}

describe('tiers', () => {
  it('every test file belongs to one', () => {
    expect(TESTS.filter((file) => tierOf(file) === undefined)).toEqual([]);
    expect(TESTS.length).toBeGreaterThan(200);
  });

  it('every tier has files', () => {
    expect(new Set(TESTS.map(tierOf))).toEqual(new Set(Object.keys(TIERS)));
  });

  it('no test is outside a test file', () => {
    const defining = /^ *(?:it|test|describe)(?:\.\w+)?(?:\.each)?\(/m;
    const others = ALL.filter((file) => !file.endsWith('.test.ts'));
    const found = others.filter((file) => defining.test(readFileSync(file, 'utf8')));
    expect(found).toEqual([]);
  });

  it('no unit test reaches a Redis', () => {
    const units = TESTS.filter((file) => tierOf(file) === 'unit');
    const wrong = units.flatMap((file) => {
      const reached = reachedFrom(file);
      return BEYOND_UNIT.filter((one) => reached.has(one)).map((one) => `${file}: ${one}`);
    });
    expect(wrong).toEqual([]);
  });
});
