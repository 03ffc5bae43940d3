/**
 * Milliseconds before the next attempt: exponential with a cap and full jitter, so that jobs that
 * failed together do not come back together.
 *
 * | attempts made | base 1 s, cap 5 min: at most |
 * |---|---|
 * | 1 | 1 s |
 * | 2 | 2 s |
 * | 5 | 16 s |
 * | 9 | 4 min 16 s |
 * | 10 and more | 5 min |
 *
 * @param attemptsMade attempts that were counted, this one included; 1 or more
 * @param random a number in [0, 1)
 * @returns a whole number from 1 to the cap
 */
export function backoffMs(
  attemptsMade: number,
  baseMs: number,
  capMs: number,
  random: number,
): number {
  const ceiling = Math.min(capMs, baseMs * 2 ** Math.max(0, attemptsMade - 1));
  return Math.max(1, Math.ceil(ceiling * random));
}
