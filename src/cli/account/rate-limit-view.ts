import type { RateLimitStatus } from '../../fleet/rate-limit/rate-limit-state.ts';
import { duration } from '../output.ts';

/**
 * The pace in one line for a person: what is in force, of what, and why it is lower.
 *
 * @param now milliseconds since the epoch
 */
export function describeRateLimit(pace: RateLimitStatus | undefined, now: number): string {
  if (pace === undefined) return NO_LIMIT;
  const { configured, manual: byHand, fall, lowUntil } = pace;
  const limit = byHand ?? configured;
  const hand = byHand === undefined ? '' : ', set by hand';
  if (fall === undefined || lowUntil === undefined) {
    return `${limit === 0 ? NO_LIMIT : `${limit} ${CALLS}`}${hand}`;
  }
  const of = limit === 0 ? '' : ` of ${limit}`;
  const back = limit === 0 ? 'no limit again' : `back at ${limit}`;
  const why = `429 ${duration(Math.max(0, now - fall.at))} ago at ${rate(fall.from)} a second`;
  const when = `${back} in ${duration(Math.max(0, lowUntil - now))}`;
  return `${rate(pace.now ?? limit)}${of} ${CALLS}${hand}: ${why}; ${when}`;
}

const NO_LIMIT = 'no limit';
const CALLS = 'send calls a second';

const rate = (perSecond: number) => String(Math.round(perSecond * 10) / 10);
