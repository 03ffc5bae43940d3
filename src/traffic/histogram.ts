/**
 * Upper bounds of the buckets of durations, in milliseconds; one more bucket counts longer ones. They are
 * fixed so that the counts of all workers can be added, and the same for the traffic record and
 * Prometheus, so that both show the same percentiles.
 */
export const DURATION_BOUNDS_MS = {
  /** Response times of the service: fine in the usual range, up to the longest deadline of a send. */
  answer: [
    5, 10, 20, 35, 50, 75, 100, 150, 250, 400, 700, 1_200, 2_500, 5_000, 10_000, 20_000, 60_000,
  ],
  /** From the time a job is due to its attempt; waits of hours come from holds and batches. */
  queueWait: [
    5, 20, 50, 100, 250, 500, 1_000, 2_500, 5_000, 15_000, 60_000, 300_000, 1_800_000, 7_200_000,
    28_800_000,
  ],
  /** Waits for the token; 0 in steady state, when it comes from memory. */
  tokenWait: [1, 5, 20, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000],
} as const satisfies Record<string, readonly number[]>;

/** Name of a duration. */
export type DurationName = keyof typeof DURATION_BOUNDS_MS;

/** Names of the durations, in the order in which the traffic record keeps them. */
export const DURATION_NAMES = [
  'answer',
  'queueWait',
  'tokenWait',
] as const satisfies DurationName[];

/** Percentiles of a duration in milliseconds, as exact as the buckets are. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  /** Number of measured durations. */
  readonly count: number;
}

/** Index of the bucket of a duration; a bound belongs to the bucket below it. */
export function bucketOf(bounds: readonly number[], ms: number): number {
  const index = bounds.findIndex((bound) => ms <= bound);
  return index === -1 ? bounds.length : index;
}

/**
 * Percentiles from the counts of the buckets; undefined without counts. Assumes an even distribution
 * within a bucket; longer durations than the last bound count as that bound.
 */
export function percentiles(
  bounds: readonly number[],
  counts: readonly number[],
): Percentiles | undefined {
  const count = counts.reduce((sum, each) => sum + each, 0);
  if (count === 0) return undefined;
  const at = (share: number) => percentile(bounds, counts, share * count);
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), count };
}

function percentile(bounds: readonly number[], counts: readonly number[], rank: number): number {
  let below = 0;
  for (const [index, upper] of bounds.entries()) {
    const inside = counts[index] ?? 0;
    if (inside > 0 && below + inside >= rank) {
      const lower = bounds[index - 1] ?? 0;
      return lower + ((upper - lower) * Math.max(0, rank - below)) / inside;
    }
    below += inside;
  }
  return bounds.at(-1) ?? 0;
}
