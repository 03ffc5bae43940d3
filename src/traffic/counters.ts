import { OUTCOME_KINDS, type OutcomeKind } from '../contracts/outcome.ts';
import { LANES, type LaneName, type SeenAttempt } from '../contracts/seen-attempt.ts';
import { bucketOf, DURATION_BOUNDS_MS, DURATION_NAMES, type DurationName } from './histogram.ts';

/**
 * The counters of the traffic record, as one list of numbers. A worker has the list in memory; in Redis
 * each interval is one such list.
 *
 * - for each lane and outcome: attempts, and their contacts
 * - for each lane: requests that were written to a socket
 * - for each duration: one counter per bucket
 * - for each lane: contacts sent again that the service may have accepted before
 */
type Counter =
  | `attempts:${LaneName}:${OutcomeKind}`
  | `contacts:${LaneName}:${OutcomeKind}`
  | `requests:${LaneName}`
  | `${DurationName}:${number}`
  | `possiblySentTwice:${LaneName}`;

/** The counters in the order in which they are stored. Change {@link LAYOUT} with it. */
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
  ...LANES.map((lane) => `possiblySentTwice:${lane}` as const),
];

/** An order in which counters are stored: the first `length` of {@link COUNTERS}. */
export interface Layout {
  /** Part of the Redis keys: versions that run side by side during an upgrade do not mix up the numbers. */
  readonly version: number;
  readonly length: number;
}

/** What workers write. */
export const LAYOUT: Layout = { version: 2, length: COUNTERS.length };

/** What readers add up: records of earlier workers are kept for two days. */
export const LAYOUTS: readonly Layout[] = [LAYOUT, { version: 1, length: 77 }];

const POSITIONS: ReadonlyMap<string, number> = new Map(
  COUNTERS.map((counter, position) => [counter, position]),
);

/** Index of a counter in the list. */
export function positionOf(counter: Counter): number {
  return POSITIONS.get(counter) ?? -1;
}

/** A list of zeros. */
export function noCounts(): number[] {
  return Array.from({ length: COUNTERS.length }, () => 0);
}

/** Precomputed indexes, because every attempt is counted. */
const OF_LANE = byName(LANES, (lane) => ({
  attempts: byName(OUTCOME_KINDS, (kind) => positionOf(`attempts:${lane}:${kind}`)),
  contacts: byName(OUTCOME_KINDS, (kind) => positionOf(`contacts:${lane}:${kind}`)),
  requests: positionOf(`requests:${lane}`),
  possiblySentTwice: positionOf(`possiblySentTwice:${lane}`),
}));
const FIRST_BUCKET = byName(DURATION_NAMES, (name) => positionOf(`${name}:0`));

function byName<Name extends string, Value>(
  names: readonly Name[],
  of: (name: Name) => Value,
): Readonly<Record<Name, Value>> {
  return Object.fromEntries(names.map((name) => [name, of(name)])) as Record<Name, Value>;
}

/** Counts one attempt. */
export function countAttempt(counts: number[], attempt: SeenAttempt): void {
  const { lane, outcome, contacts, requests, possiblySentTwice = 0, answerMs, waitedMs } = attempt;
  const ofLane = OF_LANE[lane];
  add(counts, ofLane.attempts[outcome], 1);
  const { contactsBy } = attempt;
  if (contactsBy === undefined) add(counts, ofLane.contacts[outcome], contacts);
  else for (const kind of OUTCOME_KINDS) add(counts, ofLane.contacts[kind], contactsBy[kind] ?? 0);
  add(counts, ofLane.requests, requests);
  add(counts, ofLane.possiblySentTwice, possiblySentTwice);
  if (answerMs !== undefined) countDuration(counts, 'answer', answerMs);
  if (waitedMs !== undefined) countDuration(counts, 'queueWait', waitedMs);
}

/** Counts one duration in its bucket. */
export function countDuration(counts: number[], name: DurationName, ms: number): void {
  add(counts, FIRST_BUCKET[name] + bucketOf(DURATION_BOUNDS_MS[name], ms), 1);
}

function add(counts: number[], position: number, by: number): void {
  counts[position] = (counts[position] ?? 0) + by;
}
