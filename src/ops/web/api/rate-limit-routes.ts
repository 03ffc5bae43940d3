import { z } from 'zod';
import type { RateLimitStatus } from '../../../fleet/rate-limit/rate-limit-state.ts';
import {
  MAX_RATE_LIMIT,
  MAX_RATE_LIMIT_REASON,
  rateLimitInForce,
  setAuditedRateLimit,
} from '../../manual-rate-limit.ts';
import type { OpsContext } from '../ops-context.ts';
import { json, route, type RouteAnswer, type Route } from '../http/route.ts';
import { why } from './inputs.ts';

const rate = z.number().min(0);
const time = z.number().min(0).describe('milliseconds since the epoch');

const paceAnswer = z
  .object({
    configured: rate.describe('PACE, in send calls a second; 0 for no limit'),
    byHand: rate.exactOptional().describe('what was set in its place; 0 for no limit'),
    fall: z
      .object({ at: time, from: rate, to: rate, risesFrom: time, recoveryMs: z.number() })
      .exactOptional()
      .describe('the last one after a 429, also when it is over'),
    now: rate.exactOptional().describe('what is in force; absent where nothing limits'),
    lowUntil: time.exactOptional().describe('when it is no longer lower because of a fall'),
  })
  .meta({ id: 'Pace' }) satisfies z.ZodType<RateLimitStatus>;

const inForce = {
  200: {
    says: 'The pace; null where nothing limits, and nothing ever did.',
    schema: z.object({ pace: paceAnswer.nullable() }),
  },
};

const namedPace = z
  .union(
    [z.int().min(1).max(MAX_RATE_LIMIT), z.enum(['off', 'default'])],
    `expected a whole number from 1 to ${MAX_RATE_LIMIT}, "off" or "default"`,
  )
  .describe('send calls a second of all workers together; default goes by PACE again');

/** How fast the account may send, and setting that by hand. */
export const RATE_LIMIT_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/pace',
    needs: 'viewer',
    kind: 'api',
    summary: 'The pace in force, who set it, and whether a 429 made it fall.',
    answers: inForce,
    handle: async (_call, context) => showPace(context),
  }),
  route({
    method: 'POST',
    path: '/api/v1/pace',
    needs: 'operator',
    kind: 'api',
    summary: 'Sets the pace for all workers while they run, until it is set again.',
    body: z.strictObject({ pace: namedPace, why: why.max(MAX_RATE_LIMIT_REASON) }),
    answers: inForce,
    handle: async ({ body, name }, context) => {
      await setAuditedRateLimit(context, body.pace, { who: name, why: body.why });
      return showPace(context);
    },
  }),
];

async function showPace(context: OpsContext): Promise<RouteAnswer> {
  return json({ pace: (await rateLimitInForce(context, context.configuredPace)) ?? null });
}
