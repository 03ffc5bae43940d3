import { readFile } from 'node:fs/promises';
import { spreadOf } from '../harness/spread.ts';
import type { Results } from '../results.ts';
import { table } from './tables.ts';

/** Lists of rounds by what they measure, such as `singles, BullMQ + axios, rate`. */
function figuresOf(found: unknown, name: readonly string[] = []): [string, readonly number[]][] {
  if (typeof found !== 'object' || found === null) return [];
  if (Array.isArray(found)) {
    const isRounds = found.length > 0 && found.every((each) => typeof each === 'number');
    return isRounds ? [[name.join(', '), found]] : [];
  }
  return Object.entries(found).flatMap(([key, value]) => figuresOf(value, [...name, key]));
}

/**
 * The results of an earlier run.
 *
 * @throws RangeError for a file that cannot be read or contains something else
 */
export async function readResults(file: string): Promise<Results> {
  try {
    const found = JSON.parse(await readFile(file, 'utf8')) as Partial<Results> | null;
    if (found?.machine !== undefined && found.rounds !== undefined) return found as Results;
  } catch {
    // Refused below, like any other file without results.
  }
  throw new RangeError(`--compare: expected the results of a run in ${file}`);
}

/** A figure that changed by more than the rounds of either run differ. */
export interface Change {
  readonly what: string;
  readonly before: number;
  readonly after: number;
}

/** What two runs both measured, and where their rounds do not overlap. */
export function changes(before: Results, after: Results): Change[] {
  const earlier = new Map(figuresOf(before));
  return figuresOf(after).flatMap(([what, rounds]) => {
    const old = earlier.get(what);
    if (old === undefined) return [];
    const [one, other] = [spreadOf(old), spreadOf(rounds)];
    if (one.min <= other.max && other.min <= one.max) return [];
    return [{ what, before: one.median, after: other.median }];
  });
}

/** The changes as a table; a sentence where there is none. */
export function changeText(found: readonly Change[]): string {
  if (found.length === 0) return 'No figure changed by more than its rounds differ.';
  const rows = found.map(({ what, before, after }) => [
    what,
    String(before),
    String(after),
    `${after > before ? '+' : ''}${((after / before - 1) * 100).toFixed(1)} %`,
  ]);
  return table(['figure', 'before', 'after', 'change'], rows);
}
