import { appendFileSync, readFileSync } from 'node:fs';
import { DELIVERY_POLICIES } from '../../../src/contracts/delivery.ts';
import { CATALOGUE } from './catalogue.ts';
import type { Verdict } from './laws.ts';

/** What a scenario showed, whatever became of it. */
export interface Row extends Omit<Verdict, 'holds'> {
  readonly scenario: string;
  readonly boundMs?: number | undefined;
  readonly holds: readonly string[];
  /** Laws that it broke. */
  readonly broken: readonly string[];
  /** What else is to be said of it. */
  readonly note?: string | undefined;
}

export function addRow(file: string, row: Row): void {
  appendFileSync(file, `${JSON.stringify(row)}\n`);
}

export function readRows(file: string): Row[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Row);
}

/** One line for whoever watches a run. */
export function lineOf(row: Row): string {
  const { scenario, delivery, faults, strikes, handedOver, lost, twice, again, unknown } = row;
  const verdict = row.broken.length === 0 ? 'ok' : `BROKEN: ${row.broken.join('; ')}`;
  return (
    `${delivery}, ${scenario}: ${verdict}; ${faults} faults struck ${strikes} times, ` +
    `${handedOver} contacts, lost ${lost}, twice ${twice} of ${again} in doubt, unknown ${unknown}, ` +
    `tokens ${row.issued}, recovery ${recoveryOf(row)}, longest standstill ${row.longestGapMs} ms`
  );
}

const HEAD = `<!-- Written by \`npm run test:chaos\`: do not edit. -->

# What was broken, and what became of the notices

Real worker processes, a real Redis with an append-only file, real connections through a proxy that
breaks them on command. Each scenario hands over a batch and single notices, and breaks something while
they are sent. The emulator's own record of what it took is the judge. A scenario passes when

- **its faults struck**: one that met nothing is void;
- **it adds up**: the states of the batch make up its total, at every look (some fifty a second);
- **nothing is lost**: every contact was taken by the service, or is listed as unknown;
- **nobody gets it twice without our saying so**: at-most-once never; at-least-once only who was counted
  as sent again in doubt;
- **nothing is claimed**: whatever counts as accepted is in the service's record, and nothing ends as
  anything but accepted or unknown;
- **tokens are rare**: issuances are at most one, plus one for each invalidation, plus two for each
  fault; without the two where nothing disturbs an issuance;
- **no hold is left, no worker falls**, and a hold is named for its cause;
- **it comes back** within the bound of its kind.

Columns: **faults** injected, and in brackets how often they **struck** (connections, calls, jobs held);
contacts **handed over**, **lost**, taken **twice**; **in doubt**, sent again although the attempt
before may have been taken; **unknown**, set aside for a person to decide; **tokens** issued;
**recovery**, the longest time from the end of a fault to full speed (four fifths of the speed before)
or to the end of the last job that a dead or frozen worker held, in brackets what it may be.
`;

const FOOT = `
Locks are short here, so that a run takes minutes (LOCK_DURATION_MS 6 s, STALLED_INTERVAL_MS 1 s,
HOLD_PROBE_MAX_MS 1 s); with other settings the bounds move with them: lock + 2 stalled intervals + 1 s
for workers, probe interval + 1 s for holds, 5 s for Redis, send deadline + longest backoff + 1 s for the
network.
`;

const TITLES = [
  '| scenario | what is broken | faults (struck) | contacts | lost | twice | in doubt | unknown | tokens | recovery |',
  '|---|---|--:|--:|--:|--:|--:|--:|--:|--:|',
];

/** The page, or the scenarios that have no row, for they failed or were not run. */
export function renderReport(
  rows: readonly Row[],
): { readonly page: string } | { readonly missing: string[] } {
  const missing: string[] = [];
  const parts: string[] = [HEAD];
  for (const delivery of DELIVERY_POLICIES) {
    parts.push(`## ${delivery}`);
    for (const { title, scenarios } of CATALOGUE) {
      const lines: string[] = [];
      const notes: string[] = [];
      for (const { name, breaks } of scenarios) {
        const row = rows.find((one) => one.scenario === name && one.delivery === delivery);
        if (row === undefined || row.broken.length > 0) missing.push(`${name}, ${delivery}`);
        else lines.push(tableLine(breaks, row));
        if (row?.note !== undefined) notes.push(`${name}: ${row.note}`);
      }
      parts.push(`### ${title}`, [...TITLES, ...lines].join('\n'), ...notes);
    }
  }
  parts.push(FOOT);
  return missing.length > 0 ? { missing } : { page: parts.join('\n\n') };
}

function tableLine(breaks: string, row: Row): string {
  const { scenario, faults, strikes, handedOver, lost, twice, again, unknown, issued } = row;
  const counts = [handedOver, lost, twice, again, unknown, issued].map((count) =>
    count.toLocaleString('en-US'),
  );
  const cells = [scenario, breaks, `${faults} (${strikes})`, ...counts, recoveryOf(row)];
  return `| ${cells.join(' | ')} |`;
}

function recoveryOf({ recoveriesMs, boundMs }: Row): string {
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  if (recoveriesMs.length === 0) return 'not measured';
  // JSON knows no infinity.
  const longest = Math.max(...recoveriesMs.map((ms: number | null) => ms ?? Infinity));
  const took = Number.isFinite(longest) ? seconds(longest) : 'never';
  return boundMs === undefined ? took : `${took} (${seconds(boundMs)})`;
}
