import { appendFileSync, readFileSync } from 'node:fs';
import { DELIVERY_POLICIES } from '../../../src/contracts/outcome.ts';
import { CATALOGUE } from './catalogue.ts';
import type { Verdict } from './laws.ts';
import { LOCK_MS, MOST_COMMANDS, STALLED_MS } from './settings.ts';

/** Result of a scenario, passed or not. */
export interface Row extends Omit<Verdict, 'holds'> {
  readonly scenario: string;
  readonly boundMs?: number | undefined;
  readonly holds: readonly string[];
  /** Rules that it broke. */
  readonly broken: readonly string[];
  /** Shown below the table. */
  readonly note?: string | undefined;
}

export function addRow(file: string, row: Row): void {
  appendFileSync(file, `${JSON.stringify(row)}\n`);
}

export function readRows(file: string): Row[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Row);
}

/** One line for the terminal. */
export function lineOf(row: Row): string {
  const { scenario, delivery, faults, strikes, handedOver, lost, twice, again, unknown } = row;
  const verdict = row.broken.length === 0 ? 'ok' : `BROKEN: ${row.broken.join('; ')}`;
  return (
    `${delivery}, ${scenario}: ${verdict}; ${faults} faults took effect ${strikes} times, ` +
    `${handedOver} contacts, lost ${lost}, twice ${twice} of ${again} resent, unknown ${unknown}, ` +
    `tokens ${row.issued}, recovery ${recoveryOf(row)}, longest pause ${row.longestGapMs} ms, ` +
    `${row.mostCommands} commands a second of a process in pauses`
  );
}

const HEAD = `<!-- Written by \`npm run test:chaos\`: do not edit. -->

# Reliability report

What the chaos suite breaks, and what becomes of the notices. Each scenario runs real worker processes, a
real Redis with an append-only file, and real connections through a proxy that breaks them on command. It
queues a batch and single notices, and injects faults while they are sent. The emulator's record of what it
accepted decides; it is compared only with what a user can see: the commands \`status\`, \`batch\`, \`unknown\`
and \`failures\`, the metrics and the log. A scenario passes if

- **its faults took effect**: a fault that affected nothing does not count;
- **the states add up**: about fifty times a second, the states of the batch are compared with its total;
- **nothing is lost**: every contact was accepted by the service or is listed as unknown;
- **duplicates are accounted for**: none with at-most-once; with at-least-once only contacts that were
  counted as possibly sent twice, in their lane; the log names each such single notice; no contact is accepted
  more than 1 + UNKNOWN_RESENDS times;
- **a failover to a stale replica** is the exception to these two: what Redis lost may be accepted once more without
  being counted, under either policy, and notices that were queued meanwhile are lost; the note below its table counts both;
- **nothing is reported wrongly**: everything that counts as accepted is in the service's record; everything
  else is unknown, and what the service refuses for itself is rejected;
- **little is in doubt**: in a long outage, possibly sent is at most what was in flight, and the probes;
- **no connection that died is used**: with at-most-once no request goes over one that was kept and died;
- **good notices do not wait for bad ones**, where notices are refused for themselves;
- **requests are bounded**: at most 2 x ATTEMPTS + UNKNOWN_RESENDS + 1 for a notice or a chunk that is not divided, and its probes;
- **tokens are rarely issued**: at most once, plus once per invalidation, plus twice per fault that can
  disturb an issuance;
- **no hold is left and no worker crashes**, and each hold is named for its cause;
- **Redis is left alone**: no process sends more than ${MOST_COMMANDS} commands a second to Redis while the
  service takes nothing (counted in the process, in seconds that lie within such a time);
- **it recovers** within the bound for this kind of fault.

Columns: **effects** of the faults (connections, calls, jobs); contacts accepted **twice**, **resent**
(\`possiblySentTwice\` in \`notices status\`: sent again although possibly sent before), and **unknown**, set aside for a decision;
**recovery**, in seconds: the longest time from the end of a fault to full speed (four fifths of the speed before), or to the end of
the last job that a dead or frozen worker held. Two figures are those of at-least-once and at-most-once. None was lost.
`;

const FOOT = `
Locks are short in these runs (LOCK_DURATION_MS ${LOCK_MS} ms, HEARTBEAT_MS ${STALLED_MS} ms,
HOLD_PROBE_MAX_MS 1 s). With other settings the bounds change: for workers lock + 2 stalled intervals + 1 s (new ones start) + 1 s, for holds probe interval + 1 s, for
Redis 5 s (from the promotion in a failover), for the network send deadline + longest backoff + 1 s.
`;

const TITLES = [
  '| scenario | what is broken | effects | twice | resent | unknown | recovery |',
  '|---|---|--:|--:|--:|--:|--:|',
];

/** The page, or the scenarios that failed or were not run. */
export function renderReport(
  rows: readonly Row[],
): { readonly page: string } | { readonly missing: string[] } {
  const missing: string[] = [];
  const parts: string[] = [HEAD];
  for (const { title, scenarios } of CATALOGUE) {
    const lines: string[] = [];
    const notes: string[] = [];
    for (const { name, breaks } of scenarios) {
      const both = DELIVERY_POLICIES.flatMap((delivery) => {
        const row = rows.findLast((one) => one.scenario === name && one.delivery === delivery);
        if (row === undefined || row.broken.length > 0) missing.push(`${name}, ${delivery}`);
        if (row?.note !== undefined) notes.push(`${name}, ${delivery}: ${row.note}`);
        return row ?? [];
      });
      lines.push(tableLine(name, breaks, both));
    }
    parts.push(`## ${title}`, [...TITLES, ...lines].join('\n'), ...notes);
  }
  parts.push(FOOT);
  return missing.length > 0 ? { missing } : { page: parts.join('\n\n') };
}

function tableLine(name: string, breaks: string, rows: readonly Row[]): string {
  const each = (show: (row: Row) => string) => [...new Set(rows.map(show))].join('/');
  const counts = (['strikes', 'twice', 'again', 'unknown'] as const).map((count) =>
    each((row) => row[count].toLocaleString('en-US')),
  );
  return `| ${[name, breaks, ...counts, each(longestOf)].join(' | ')} |`;
}

/** For the terminal, with its bound. */
function recoveryOf(row: Row): string {
  const bound = row.boundMs === undefined ? '' : ` (${(row.boundMs / 1_000).toFixed(1)} s)`;
  return `${longestOf(row)} s${bound}`;
}

function longestOf({ recoveriesMs }: Row): string {
  if (recoveriesMs.length === 0) return '-';
  // JSON has no infinity.
  const longest = Math.max(...recoveriesMs.map((ms: number | null) => ms ?? Infinity));
  return Number.isFinite(longest) ? (longest / 1_000).toFixed(1) : 'never';
}
