import { ratioOf, spreadOf, type Spread } from '../harness/spread.ts';
import { NAMES } from '../legs/single-sends.ts';
import { BARE, LIGHT_COMMANDS, PACKAGES } from '../legs/startup.ts';
import type { Race, Results } from '../results.ts';

/** A performance target. */
export interface Target {
  readonly work: string;
  readonly reference: string;
  readonly reach: { readonly atLeast: number } | { readonly atMost: number };
  readonly unit: 'x' | 'B' | 'ms' | 'round trips';
  /** Undefined if the run did not measure it. */
  readonly reached: (results: Results) => Spread | undefined;
}

/** Whether a target was met. */
export interface Verdict {
  readonly target: Target;
  readonly reached: Spread | undefined;
  readonly met: boolean | undefined;
}

function rates(race: Race | undefined, contestant: string, reference: string): Spread | undefined {
  const one = race?.[contestant]?.rate;
  const other = race?.[reference]?.rate;
  return one === undefined || other === undefined ? undefined : ratioOf(one, other);
}

const exactly = (figure: number | undefined): Spread | undefined =>
  figure === undefined ? undefined : { median: figure, min: figure, max: figure };

const singles =
  (contestant: string, reference: string) =>
  ({ singles }: Results) =>
    rates(singles, contestant, reference);
const chunks =
  (reference: string) =>
  ({ chunks }: Results) =>
    rates(chunks, NAMES.chunks, reference);

const countOf = ({ counts }: Results, what: string) =>
  counts?.find((count) => count.what.startsWith(what))?.count;

const SINGLES = '20,000 single sends';
const CHUNKS = '1,000,000 contacts in chunks of 1,000';

export const TARGETS: readonly Target[] = [
  {
    work: `${SINGLES}, one contact per request`,
    reference: NAMES.bullUndici,
    reach: { atLeast: 1 },
    unit: 'x',
    reached: singles(NAMES.alone, NAMES.bullUndici),
  },
  {
    work: `${SINGLES}, one contact per request: CPU of the process`,
    reference: NAMES.bullUndici,
    reach: { atMost: 1.1 },
    unit: 'x',
    reached: ({ singles: race }) => {
      const one = race?.[NAMES.alone]?.cpuUs;
      const other = race?.[NAMES.bullUndici]?.cpuUs;
      return one === undefined || other === undefined ? undefined : ratioOf(one, other);
    },
  },
  {
    work: `${SINGLES}, one contact per request`,
    reference: NAMES.axios,
    reach: { atLeast: 2 },
    unit: 'x',
    reached: singles(NAMES.alone, NAMES.axios),
  },
  {
    work: CHUNKS,
    reference: NAMES.fastLoop,
    reach: { atLeast: 1 },
    unit: 'x',
    reached: chunks(NAMES.fastLoop),
  },
  {
    work: CHUNKS,
    reference: NAMES.axios,
    reach: { atLeast: 3 },
    unit: 'x',
    reached: chunks(NAMES.axios),
  },
  {
    work: CHUNKS,
    reference: NAMES.loop,
    reach: { atLeast: 1.5 },
    unit: 'x',
    reached: chunks(NAMES.loop),
  },
  {
    work: 'import of 1,000,000 CSV rows: checked, compressed, encrypted, stored',
    reference: 'csv-parse only reading the file',
    reach: { atLeast: 1 },
    unit: 'x',
    reached: ({ importing }) => rates(importing, NAMES.importer, NAMES.csvParse),
  },
  {
    work: 'Redis bytes per waiting contact, chunks of 1,000, random data',
    reference: 'plain JSON, about 82',
    reach: { atMost: 20 },
    unit: 'B',
    reached: (results) => exactly(countOf(results, 'bytes in Redis a waiting contact')),
  },
  {
    work: 'Redis round trips per send, at-least-once, one contact per request',
    reference: 'plain BullMQ, 1.00',
    reach: { atMost: 1.02 },
    unit: 'round trips',
    reached: (results) => exactly(countOf(results, 'Redis round trips a send')),
  },
  {
    work: 'one notice in an idle system: from the call to the request, median',
    reference: NAMES.axios,
    reach: { atMost: 1 },
    unit: 'x',
    reached: ({ latency }) => {
      const one = latency?.[NAMES.chunks]?.p50Ms;
      const other = latency?.[NAMES.axios]?.p50Ms;
      return one === undefined || other === undefined ? undefined : ratioOf(one, other);
    },
  },
  {
    work: 'peak memory of an import of 4,000,000 rows',
    reference: 'an import of 1,000,000 rows',
    reach: { atMost: 1.1 },
    unit: 'x',
    reached: ({ importPeakMb }) =>
      exactly(importPeakMb && importPeakMb.fourMillion / importPeakMb.million),
  },
  {
    work: `${PACKAGES.ours} in a new process`,
    reference: PACKAGES.bullmq,
    reach: { atMost: 1.3 },
    unit: 'x',
    reached: ({ startup }) => {
      const one = startup?.ms[PACKAGES.ours];
      const other = startup?.ms[PACKAGES.bullmq];
      return one === undefined || other === undefined ? undefined : ratioOf(one, other);
    },
  },
  {
    work: 'slowest command that needs neither Redis nor the service',
    reference: BARE,
    reach: { atMost: 150 },
    unit: 'ms',
    reached: ({ startup }) =>
      LIGHT_COMMANDS.map((name) => startup?.ms[name])
        .flatMap((ms) => (ms === undefined ? [] : [spreadOf(ms)]))
        .sort((left, right) => right.median - left.median)[0],
  },
  {
    work: 'slowest page of the ops server',
    reference: '1,000,000 jobs waiting (`--full`)',
    reach: { atMost: 300 },
    unit: 'ms',
    reached: ({ pages = [] }) => {
      const full = pages.filter(({ jobs }) => jobs >= 1_000_000).map(({ worstMs }) => worstMs);
      return full.length === 0 ? undefined : exactly(Math.max(...full));
    },
  },
];

/** Every target, and whether its median was met. */
export function verdicts(results: Results): Verdict[] {
  return TARGETS.map((target) => {
    const reached = target.reached(results);
    return { target, reached, met: reached && isMet(target, reached.median) };
  });
}

function isMet({ reach }: Target, figure: number): boolean {
  return 'atLeast' in reach ? figure >= reach.atLeast : figure <= reach.atMost;
}
