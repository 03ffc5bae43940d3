import { spreadOf } from '../harness/spread.ts';
import type { Race, Results } from '../results.ts';
import type { Target, Verdict } from './targets.ts';

/** A Markdown table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The targets and what was reached. */
export function verdictTable(verdicts: readonly Verdict[]): string {
  return table(
    ['work', 'compared with', 'target', 'reached', 'result'],
    verdicts.map(({ target, reached, met }) => [
      target.work,
      target.reference,
      goalOf(target),
      reached === undefined
        ? 'not measured'
        : `**${shown(reached.median, target)}**${range(target, reached)}`,
      verdictWord(target, reached?.median, met),
    ]),
  );
}

function goalOf({ reach, unit }: Target): string {
  const text = 'atLeast' in reach ? `≥ ${reach.atLeast}` : `≤ ${reach.atMost}`;
  return unit === 'round trips' ? text : `${text} ${unit}`;
}

function shown(figure: number, { unit }: Target): string {
  const text = unit === 'B' ? figure.toFixed(1) : figure.toFixed(2);
  return unit === 'round trips' ? text : `${text} ${unit}`;
}

function range(target: Target, { min, max }: { min: number; max: number }): string {
  if (min === max || target.unit !== 'x') return '';
  return ` (${min.toFixed(2)} to ${max.toFixed(2)})`;
}

function verdictWord(
  { reach, unit }: Target,
  figure: number | undefined,
  met: boolean | undefined,
): string {
  if (figure === undefined) return '';
  if (met === true) return 'met';
  const short = 'atLeast' in reach ? reach.atLeast - figure : figure - reach.atMost;
  return `missed by ${short.toFixed(2)}${unit === 'round trips' ? '' : ` ${unit}`}`;
}

/** Every contestant of a race with its figures. */
export function raceTable(race: Race, unit: string, reference: string): string {
  const base = race[reference];
  const baseRate = base === undefined ? undefined : spreadOf(base.rate).median;
  return table(
    [`contestant`, `${unit} per second`, 'spread', 'ratio', 'CPU µs', 'Redis µs', 'service µs'],
    Object.entries(race).map(([name, rounds]) => {
      const rate = spreadOf(rounds.rate);
      return [
        name,
        count(rate.median),
        `${count(rate.min)} to ${count(rate.max)}`,
        baseRate === undefined ? '' : `${(rate.median / baseRate).toFixed(2)} x`,
        micro(spreadOf(rounds.cpuUs).median),
        micro(spreadOf(rounds.redisCpuUs).median),
        micro(spreadOf(rounds.serviceCpuUs).median),
      ];
    }),
  );
}

/** Fleets of several sizes on one Redis, and how busy each kept it. */
export function sharingTable(sharing: NonNullable<Results['sharing']>): string {
  const median = (rounds: readonly number[]) => spreadOf(rounds).median;
  return table(
    [
      'contestant',
      'contacts per second',
      'Redis µs',
      'Redis core busy',
      'bytes to Redis',
      'bytes from Redis',
      'queueing: Redis µs',
      'CPU µs of workers',
    ],
    Object.entries(sharing).map(([name, rounds]) => [
      name,
      count(median(rounds.rate)),
      micro(median(rounds.redisCpuUs)),
      `${((median(rounds.rate) * median(rounds.redisCpuUs)) / 10_000).toFixed(0)} %`,
      count(median(rounds.inBytes)),
      count(median(rounds.outBytes)),
      micro(median(rounds.queueingCpuUs)),
      micro(median(rounds.cpuUs)),
    ]),
  );
}

/** Counts and their bounds. */
export function countTable(counts: NonNullable<Results['counts']>): string {
  return table(
    ['count', 'measured', 'at most'],
    counts.map(({ what, count: figure, atMost }) => [
      what,
      figure >= 100 ? count(figure) : String(Number(figure.toFixed(2))),
      atMost === undefined ? '' : String(atMost),
    ]),
  );
}

/** A whole number with thousands separators. */
export function count(figure: number): string {
  return Math.round(figure).toLocaleString('en');
}

function micro(us: number): string {
  if (us < 0.005) return '0';
  return us >= 10 ? us.toFixed(0) : us.toFixed(2);
}
