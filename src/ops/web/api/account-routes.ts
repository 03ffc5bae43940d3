import { z } from 'zod';
import { METRICS_CONTENT_TYPE } from '../../../metrics/fleet-metrics.ts';
import { redisFailure } from '../../../redis/failure.ts';
import { ROLES } from '../access/identity.ts';
import { route, type Route } from '../http/route.ts';

const API = { method: 'GET', needs: 'viewer', kind: 'api' } as const;

const session = z.object({
  name: z.string(),
  role: z.enum(ROLES),
  by: z.enum(['session', 'proxy', 'key']),
  csrf: z.string().describe('empty for an API key, which needs no token'),
});

const health = z.strictObject({
  status: z.enum(['ok', 'unready']),
  reasons: z.array(z.string()).describe('why it is not ready'),
});
const HEALTHY: z.output<typeof health> = { status: 'ok', reasons: [] };

const HEALTH = { method: 'GET', needs: 'open', kind: 'health' } as const;

/** Health checks, which need no role and reveal nothing; the session, and metrics. */
export const ACCOUNT_ROUTES: readonly Route[] = [
  route({
    ...HEALTH,
    path: '/livez',
    summary: 'Whether the process is alive, independent of Redis.',
    answers: { 200: { says: 'The process is alive.', schema: health } },
    handle: () => HEALTHY,
  }),
  route({
    ...HEALTH,
    path: '/readyz',
    summary: 'Whether requests can be served.',
    answers: {
      200: { says: 'Ready.', schema: health },
      503: { says: 'Redis is not available.', schema: health },
    },
    handle: async ({ reply }, { redis, redisWatch }) => {
      try {
        await redis.ping();
        return HEALTHY;
      } catch (error) {
        redisWatch.failed(error);
        void reply.code(503);
        // Without a sign-in only the code: the cause names the address of Redis.
        return { status: 'unready', reasons: [redisFailure(error).code] };
      }
    },
  }),
  route({
    ...API,
    path: '/api/v1/session',
    summary: 'The caller, and the token that a change by script must send as X-CSRF-Token.',
    answers: { 200: { says: 'The caller.', schema: session } },
    handle: ({ who, name, csrf }) => ({ name, role: who?.role, by: who?.by, csrf }),
  }),
  route({
    ...API,
    path: '/metrics',
    summary: 'The metrics of the account for Prometheus; workers have their own.',
    answers: { 200: { says: 'The metrics.', type: METRICS_CONTENT_TYPE } },
    handle: async ({ reply }, { metrics }) => {
      void reply.type(METRICS_CONTENT_TYPE);
      return metrics.text();
    },
  }),
];
