import { OUTCOME_KINDS, type OutcomeKind } from '../../contracts/outcome.ts';
import { LANES, type LaneName, type SeenAttempt } from '../../contracts/seen-attempt.ts';
import { bucketOf, DURATION_BOUNDS_MS, DURATION_NAMES, type DurationName } from './histogram.ts';

/**
 * What the traffic record counts, as one list of numbers: the same list in a worker's memory and in
 * Redis, where a slot of time is these numbers in a row.
 *
 * - for each lane and outcome: attempts, and the contacts in them
 * - for each lane: requests that were put on a socket
 * - for each duration: how many fell into each bucket
 */
type Counter =
  | `attempts:${LaneName}:${OutcomeKind}`
  | `contacts:${LaneName}:${OutcomeKind}`
  | `requests:${LaneName}`
  | `${DurationName}:${number}`;

/** The counters in the order in which they are stored. Whoever changes it changes LAYOUT, too. */
export const COUNTERS: readonly Counter[] = [
  ...LANES.flatMap((lane) => OUTCOME_KINDS.map((kind) => `attempts:${lane}:${kind}` as const)),
  ...LANES.flatMap((lane) => OUTCOME_KINDS.map((kind) => `contacts:${lane}:${kind}` as const)),
  ...LANES.map((lane) => `requests:${lane}` as const),
  ...DURATION_NAMES.flatMap((name) =>
    Array.from(
      { length: DURATION_BOUNDS_MS[name].length + 1 },
      (_, bucket) => `${name}:${bucket}` as const,
    ),
  ),
];

/**
 * Names the order above in Redis keys: workers and readers of different versions, side by side
 * during an update, then write and read records of their own instead of mixing up the numbers.
 */
export const LAYOUT = 1;

const POSITIONS: ReadonlyMap<string, number> = new Map(
  COUNTERS.map((counter, position) => [counter, position]),
);

/** Where a counter stands in the list. */
export function positionOf(counter: Counter): number {
  return POSITIONS.get(counter) ?? -1;
}

/** A list with nothing counted. */
export function noCounts(): number[] {
  return Array.from({ length: COUNTERS.length }, () => 0);
}

/** Counts an attempt. */
export function countAttempt(counts: number[], attempt: SeenAttempt): void {
  const { lane, outcome, contacts, requests, answerMs, waitedMs } = attempt;
  add(counts, `attempts:${lane}:${outcome}`, 1);
  add(counts, `contacts:${lane}:${outcome}`, contacts);
  add(counts, `requests:${lane}`, requests);
  if (answerMs !== undefined) countDuration(counts, 'answer', answerMs);
  if (waitedMs !== undefined) countDuration(counts, 'queueWait', waitedMs);
}

/** Counts a duration into its bucket. */
export function countDuration(counts: number[], name: DurationName, ms: number): void {
  add(counts, `${name}:${bucketOf(DURATION_BOUNDS_MS[name], ms)}`, 1);
}

function add(counts: number[], counter: Counter, by: number): void {
  const position = positionOf(counter);
  counts[position] = (counts[position] ?? 0) + by;
}
