import type { WorkerConfig } from '../../src/config/config.ts';

/** When the next attempt is made. Default: as after any failed attempt. */
export type Backoff =
  | undefined
  /** Others may get the same: far apart, so that the attempts outlast an outage. */
  | 'far'
  | 'near'
  | { readonly possiblySent: number }
  | { readonly ms: number };

export class AttemptError extends Error {
  override readonly name = 'AttemptError';
  readonly backoff: Backoff;

  constructor(message: string, backoff: Backoff) {
    super(message);
    this.backoff = backoff;
  }
}

type Limits = Pick<WorkerConfig, 'backoffBaseMs' | 'backoffCapMs'>;

/**
 * Milliseconds before the next attempt. With base 1 s and cap 5 min, at most:
 *
 * | attempts made | any failed attempt | near | far |
 * |---|---|---|---|
 * | 1 | 1 s | 1 s | 1 s |
 * | 3 | 4 s | 4 s | 20 s |
 * | 5 | 16 s | 16 s | 320 s |
 * | 10 and more | 5 min | 16 s | 10 min |
 *
 * The first is random from nothing to that, so that jobs that failed together are not retried together;
 * the others from three quarters of it. After an unknown outcome: 2 s, then 5 min.
 * @param attemptsMade counted attempts, this one included; 1 or more
 * @param random a number in [0, 1)
 * @returns a whole number, 1 or more
 */
export function backoffMs(
  attemptsMade: number,
  { backoffBaseMs: base, backoffCapMs: cap }: Limits,
  random: number,
  backoff?: Backoff,
): number {
  const failed = Math.max(0, attemptsMade - 1);
  if (backoff === undefined) {
    return Math.max(1, Math.ceil(Math.min(cap, base * 2 ** failed) * random));
  }
  return Math.max(1, Math.ceil(atMost(backoff, failed, base, cap) * (0.75 + random / 4)));
}

function atMost(
  backoff: Exclude<Backoff, undefined>,
  failed: number,
  base: number,
  cap: number,
): number {
  if (backoff === 'near') return Math.min(cap, base * 2 ** Math.min(failed, 4));
  if (backoff === 'far') {
    return Math.min(2 * cap, failed === 0 ? base : 5 * base * 4 ** (failed - 1));
  }
  if ('ms' in backoff) return backoff.ms / 0.75;
  return backoff.possiblySent <= 1 ? Math.min(cap, 2 * base) : cap;
}
