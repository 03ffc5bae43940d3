import { z } from 'zod';
import {
  MAX_RATE_LIMIT,
  MAX_RATE_LIMIT_REASON,
  type RateLimitStatus,
} from '../../fleet/rate-limit/rate-limit-state.ts';
import { writeTime } from '../../format/time.ts';
import { rateLimitAnswer } from '../answers/account-schemas.ts';
import { operation, type OperationContext } from './operation.ts';

const PROBLEM = `expected a whole number from 1 to ${MAX_RATE_LIMIT}, "off" or "default"`;
const PATH = '/api/v1/rate-limit';

const output = z.object({ rateLimit: rateLimitAnswer.nullable() });
const answers = 'The rate limit; null where no limit is or was in force.';

/** Loaded when one runs: it loads BullMQ, which the help of a command does not need. */
const functions = () => import('../manual-rate-limit.ts');

async function read(context: OperationContext): Promise<z.output<typeof output>> {
  const { rateLimitInForce } = await functions();
  return { rateLimit: (await rateLimitInForce(context, context.configuredRateLimit)) ?? null };
}

const text = ({ rateLimit }: z.output<typeof output>, now: number) => [
  describeRateLimit(rateLimit ?? undefined, now),
];

export const showRateLimit = operation({
  name: 'rate-limit show',
  summary:
    'The rate limit in force, whether it was set manually, and whether a 429 has lowered it.',
  answers,
  needs: 'viewer',
  path: PATH,
  input: z.object({}),
  output,
  run: read,
  text,
});

export const setRateLimit = operation({
  name: 'rate-limit set',
  summary: 'Sets the rate limit of all running workers until it is set again.',
  answers,
  needs: 'operator',
  why: 'over-http',
  maxWhy: MAX_RATE_LIMIT_REASON,
  path: PATH,
  args: ['rateLimit'],
  input: z.object({
    rateLimit: z
      .union(
        [
          z.int(PROBLEM).min(1, PROBLEM).max(MAX_RATE_LIMIT, PROBLEM),
          z.enum(['off', 'default'], PROBLEM),
        ],
        PROBLEM,
      )
      .describe(
        'send requests per second of all workers together; "off" for no limit, "default" for the configured limit',
      ),
  }),
  output,
  run: async (context, { rateLimit }, actor) => {
    const { setAuditedRateLimit } = await functions();
    await setAuditedRateLimit(context, rateLimit, actor);
    return read(context);
  },
  text,
});

const NO_LIMIT = 'no limit';
const UNIT = 'send requests per second';

/**
 * Describes the rate limit in one line: the limit in force, the one set, and why it is lower.
 *
 * @param now milliseconds since the epoch
 */
export function describeRateLimit(status: RateLimitStatus | undefined, now: number): string {
  if (status === undefined) return NO_LIMIT;
  const { configured, manual, fall, lowUntil } = status;
  const limit = manual ?? configured;
  const origin = manual === undefined ? '' : ', set manually';
  if (fall === undefined || lowUntil === undefined) {
    return `${limit === 0 ? NO_LIMIT : `${limit} ${UNIT}`}${origin}`;
  }
  const of = limit === 0 ? '' : ` of ${limit}`;
  const recovered = limit === 0 ? 'no limit again' : `back at ${limit}`;
  const cause = `429 ${writeTime(fall.at, now)} at ${rounded(fall.from)}/s`;
  const recovery = `${recovered} ${writeTime(lowUntil, now, (span) => `in ${span}`)}`;
  return `${rounded(status.now ?? limit)}${of} ${UNIT}${origin}: ${cause}; ${recovery}`;
}

function rounded(perSecond: number): string {
  return String(Math.round(perSecond * 10) / 10);
}
