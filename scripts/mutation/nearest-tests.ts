import path from 'node:path';

/** The text of each file of the checkout that is code or a test, by its path. */
export type Sources = ReadonlyMap<string, string>;

/** The files that import each file when they are executed; imports of types are left out. */
export function importersOf(sources: Sources): ReadonlyMap<string, ReadonlySet<string>> {
  const importers = new Map<string, Set<string>>();
  for (const [file, text] of sources) {
    for (const [, clause = '', target = ''] of text.matchAll(IMPORT)) {
      if (/^(?:import|export) type /.test(clause)) continue;
      const imported = path.join(path.dirname(file), target);
      importers.set(imported, (importers.get(imported) ?? new Set()).add(file));
    }
  }
  return importers;
}

const IMPORT = /^((?:import|export) [^'"]*?from |import )'(\.[^']+)'/gm;

/**
 * The tests that execute a file, by how many imports lie between them. A test that imports the file itself
 * has 1.
 */
export function testsByDistance(
  importers: ReadonlyMap<string, ReadonlySet<string>>,
  file: string,
  most: number,
): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const seen = new Set([file]);
  let edge = [file];
  for (let distance = 1; distance <= most && edge.length > 0; distance++) {
    edge = edge
      .flatMap((imported) => [...(importers.get(imported) ?? [])])
      .filter((importer) => !seen.has(importer) && seen.add(importer));
    for (const test of edge.filter((importer) => importer.endsWith('.test.ts'))) {
      found.set(test, distance);
    }
  }
  return found;
}

/** Seconds that the tests of each file take. */
export type Durations = ReadonlyMap<string, number>;

/** So many of the nearest tests as fit into a time; the nearest one always, and short ones before long ones. */
export function nearestWithin(
  distances: ReadonlyMap<string, number>,
  durations: Durations,
  seconds: number,
): string[] {
  const ordered = [...distances]
    .map(([test, distance]) => ({ test, distance, takes: durations.get(test) ?? 0 }))
    .toSorted((left, right) => left.distance - right.distance || left.takes - right.takes);
  const chosen: string[] = [];
  let rest = seconds;
  for (const { test, takes } of ordered) {
    if (chosen.length > 0 && takes > rest) continue;
    chosen.push(test);
    rest -= takes;
  }
  return chosen;
}

/** `integration` of `a.integration.test.ts`, `unit` of `a.test.ts`. */
export function tierOf(test: string): string {
  return /\.([^./]+)\.test\.ts$/.exec(test)?.[1] ?? 'unit';
}
