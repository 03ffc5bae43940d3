import { z } from 'zod';
import {
  MAX_RATE_LIMIT,
  MAX_RATE_LIMIT_REASON,
  type RateLimitStatus,
} from '../../../fleet/rate-limit/rate-limit-state.ts';
import {
  rateLimitInForce,
  setAuditedRateLimit,
  type ExplainedRateLimit,
} from '../../manual-rate-limit.ts';
import { rateLimitAnswer } from '../../answers/account-schemas.ts';
import { json, route, type Route } from '../http/route.ts';
import type { OpsContext } from '../ops-context.ts';
import { why } from './inputs.ts';

const PATH = '/api/v1/rate-limit';

const newLimit = z
  .union(
    [z.int().min(1).max(MAX_RATE_LIMIT), z.enum(['off', 'default'])],
    `expected a whole number from 1 to ${MAX_RATE_LIMIT}, "off" or "default"`,
  )
  .describe(
    'send requests per second of all workers together; "off" for no limit, "default" for the configured limit',
  );

const reason = why.max(MAX_RATE_LIMIT_REASON);

const answers = {
  200: {
    says: 'The rate limit; null where no limit is or was in force.',
    schema: z.object({ rateLimit: rateLimitAnswer.nullable() }),
  },
};

/** The rate limit of the account, and setting it manually. */
export const RATE_LIMIT_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: PATH,
    needs: 'viewer',
    kind: 'api',
    summary:
      'The rate limit in force, whether it was set manually, and whether a 429 has lowered it.',
    answers,
    handle: async (_call, context) => json({ rateLimit: (await read(context)) ?? null }),
  }),
  route({
    method: 'POST',
    path: PATH,
    needs: 'operator',
    kind: 'api',
    summary: 'Sets the rate limit of all running workers until it is set again.',
    body: z.strictObject({ rateLimit: newLimit, why: reason }),
    answers,
    handle: async ({ body: { rateLimit, why: words }, name }, context) => {
      const found = await set(context, rateLimit, { who: name, why: words });
      return json({ rateLimit: found ?? null });
    },
  }),
];

function read(context: OpsContext): Promise<RateLimitStatus | undefined> {
  return rateLimitInForce(context, context.configuredRateLimit);
}

async function set(
  context: OpsContext,
  limit: ExplainedRateLimit,
  actor: { readonly who: string; readonly why: string },
): Promise<RateLimitStatus | undefined> {
  await setAuditedRateLimit(context, limit, actor);
  return read(context);
}
