import { InvalidArgumentError } from 'commander';
import type { ImportReport } from '../../batch/import/import-options.ts';
import { countOf, formatCount } from '../../format/format.ts';

/** The most rows of a list that may be refused. */
export interface RefusedLimit {
  readonly text: string;
  readonly allows: (refused: number, rows: number) => boolean;
}

/** Parses `--max-refused`: `100`, `5%` or `0.5%`. */
export function refusedLimit(text: string): RefusedLimit {
  if (/^[0-9]{1,9}$/.test(text)) return { text, allows: (refused) => refused <= Number(text) };
  const percent = /^([0-9]{1,3}(?:\.[0-9]{1,4})?)%$/.exec(text)?.[1];
  if (percent === undefined || Number(percent) > 100) {
    throw new InvalidArgumentError('Expected a number of rows, or a percentage such as 5%.');
  }
  // A whole number, because 29 % of 100 is less than 29 in binary fractions.
  const perMillion = Math.round(Number(percent) * 10_000);
  return { text, allows: (refused, rows) => refused * 1_000_000 <= perMillion * rows };
}

/**
 * Why a list does not count as imported although its valid rows are queued: no row was valid, or more rows
 * were refused than `--max-refused` allows. Undefined if it does.
 */
export function whyNotTaken(
  {
    rows,
    contacts,
    refused,
    dryRun,
    problem,
  }: Pick<ImportReport, 'rows' | 'contacts' | 'refused' | 'dryRun' | 'problem'>,
  limit: RefusedLimit | undefined,
): string | undefined {
  if (problem !== undefined) return problem;
  if (contacts === 0) return 'No contact was taken: every row of the list was rejected.';
  if (limit === undefined || limit.allows(refused, rows)) return undefined;
  const others = dryRun ? 'nothing was enqueued' : 'the others are in the batch';
  return `${formatCount(refused)} of ${countOf(rows, 'row')} were rejected, more than --max-refused ${limit.text} allows; ${others}.`;
}
