import { appendFileSync, readFileSync } from 'node:fs';
import type { Verdict } from './laws.ts';

/** What a scenario showed, whatever became of it. */
export interface Row extends Omit<Verdict, 'holds'> {
  readonly scenario: string;
  readonly boundMs?: number | undefined;
  readonly holds: readonly string[];
  /** Laws that it broke. */
  readonly broken: readonly string[];
}

export function addRow(file: string, row: Row): void {
  appendFileSync(file, `${JSON.stringify(row)}\n`);
  console.log(JSON.stringify(row));
}

export function readRows(file: string): Row[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Row);
}
