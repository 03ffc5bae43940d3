import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Declarations of types at the top of a file. */
const TYPE =
  /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|enum) ([A-Za-z_]\w*)/gm;

/** Most files that a folder of the program may hold. */
const MOST_FILES = 16;

/** Files of the program that match, by their path from the root. */
function filesBelow(folder: string, pattern: RegExp): string[] {
  return readdirSync(path.join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name)))
    .sort();
}

const SOURCES = [...filesBelow('src', /\.ts$/), ...filesBelow('workers', /\.ts$/)];

describe('names', () => {
  it('a type name is declared once in the program', () => {
    const places = new Map<string, string[]>();
    for (const file of SOURCES) {
      for (const [, name = ''] of readFileSync(path.join(ROOT, file), 'utf8').matchAll(TYPE)) {
        places.set(name, [...(places.get(name) ?? []), file]);
      }
    }
    const twice = [...places].filter(([, files]) => files.length > 1);
    expect(places.size).toBeGreaterThan(100);
    expect(Object.fromEntries(twice)).toEqual({});
  });

  it(`no folder of the program holds more than ${MOST_FILES} files`, () => {
    const counts = new Map<string, number>();
    for (const file of SOURCES) {
      const folder = path.dirname(file);
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
    expect([...counts].filter(([, count]) => count > MOST_FILES)).toEqual([]);
  });
});
