/** Several rounds of one figure. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** @throws RangeError for no figures at all */
export function spreadOf(figures: readonly number[]): Spread {
  if (figures.length === 0) throw new RangeError('no figures');
  const sorted = [...figures].sort((left, right) => left - right);
  return { median: medianOf(sorted), min: sorted[0] ?? 0, max: sorted.at(-1) ?? 0 };
}

/** @param sorted in ascending order */
function medianOf(sorted: readonly number[]): number {
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

/** The value that a share of the figures does not exceed: 0.99 for the 99th percentile. */
export function quantile(figures: readonly number[], share: number): number {
  const sorted = [...figures].sort((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/**
 * How two contestants compare: the median of the ratios within each round. Rounds are minutes apart
 * and the machine's mood differs between them; within a round it is much the same for both.
 *
 * @param figures and `reference`, each by round
 */
export function ratioOf(figures: readonly number[], reference: readonly number[]): Spread {
  return spreadOf(figures.map((figure, round) => figure / (reference[round] ?? Number.NaN)));
}
