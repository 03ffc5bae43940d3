import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import path from 'node:path';
import { isEquivalent } from './equivalent.ts';
import type { Mutant } from './mutate.ts';

/** A mutant and what the tests did. */
export interface Result extends Mutant {
  /** Where its code is, as in `targets.ts`. */
  readonly target: string;
  readonly result: 'noticed' | 'survived' | 'invalid';
  /** The test that failed, or `time limit`. */
  readonly by?: string | undefined;
  readonly seconds: number;
}

/** The results of a run and of those before it, one JSON object a line, so that a stopped run continues. */
export class Results {
  readonly #file: string;
  readonly #known = new Map<string, Result>();

  constructor(file: string) {
    this.#file = file;
    mkdirSync(path.dirname(file), { recursive: true });
    if (!existsSync(file)) return;
    for (const line of readFileSync(file, 'utf8').split('\n').filter(Boolean)) {
      const { key, ...result } = JSON.parse(line) as Result & { key: string };
      this.#known.set(key, result);
    }
  }

  /** The last result of a mutant; undefined where its file has changed since. */
  of(key: string): Result | undefined {
    return this.#known.get(key);
  }

  add(key: string, result: Result): void {
    this.#known.set(key, result);
    appendFileSync(this.#file, `${JSON.stringify({ key, ...result })}\n`);
  }
}

/** Names a mutant of a certain version of its file. */
export function keyOf({ file, line, text }: Mutant, source: string): string {
  return createHash('sha256').update(`${file}\0${source}\0${line}\0${text}`).digest('hex');
}

/** A table of the results by target, and the list of what was not noticed. */
export function summaryOf(results: readonly Result[]): { text: string; share: number } {
  const counted = results.filter(({ result }) => result !== 'invalid');
  const rows = new Map<string, Result[]>();
  for (const one of counted) rows.set(one.target, [...(rows.get(one.target) ?? []), one]);
  const row = (name: string, all: readonly Result[]) => {
    const equivalent = all.filter((one) => one.result === 'survived' && isEquivalent(one)).length;
    const survived = all.filter(({ result }) => result === 'survived').length - equivalent;
    const counting = all.length - equivalent;
    const noticed = counting - survived;
    return { name, planted: all.length, equivalent, noticed, survived, share: noticed / counting };
  };
  const total = row('all', counted);
  const lines = [...rows].map(([name, all]) => row(name, all)).concat(total);
  const table = [
    '| code | planted | without effect | noticed | not noticed |',
    '| --- | --- | --- | --- | --- |',
    ...lines.map(
      ({ name, planted, equivalent, noticed, survived, share }) =>
        `| ${name} | ${planted} | ${equivalent} | ${noticed} (${percent(share)}) | ${survived} |`,
    ),
  ];
  const missed = counted
    .filter((one) => one.result === 'survived' && !isEquivalent(one))
    .map(({ file, line, what, text }) => `${file}:${line}  ${what}\n    ${text.trim()}`);
  return {
    text: [...table, '', ...missed].join('\n'),
    share: Number.isNaN(total.share) ? 1 : total.share,
  };
}

const percent = (share: number) => (Number.isNaN(share) ? '-' : `${Math.round(share * 100)} %`);
