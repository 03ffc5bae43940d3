import { HOLDS, isProbed, type Hold } from '../../contracts/hold.ts';
import { duration } from '../output.ts';

/** A hold in one line for a person: what, why, since when, the next probe, the remedy. */
export function describeHold(hold: Hold | undefined, now: number): string {
  if (hold === undefined) return 'none';
  const { reason, remedy } = HOLDS[hold.kind];
  const since = duration(Math.max(0, now - hold.since));
  const rest = hold.nextProbeAt - now;
  const probe = rest > 0 ? `next probe in ${duration(rest)}` : 'the next job probes';
  const next = isProbed(hold.kind) ? `${probe}; ` : '';
  return `${hold.kind} (${hold.code}) for ${since}: ${reason}; ${next}${remedy}`;
}
