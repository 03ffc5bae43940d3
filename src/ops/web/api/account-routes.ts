import { z } from 'zod';
import { METRICS_CONTENT_TYPE } from '../../../metrics/fleet-metrics.ts';
import { ROLES } from '../access/identity.ts';
import { route, type Route } from '../http/route.ts';

const API = { method: 'GET', needs: 'viewer', kind: 'api' } as const;

const session = z.object({
  name: z.string(),
  role: z.enum(ROLES),
  by: z.enum(['session', 'proxy', 'key']),
  csrf: z.string().describe('empty for an API key, which needs no token'),
});

/** The session, and metrics. */
export const ACCOUNT_ROUTES: readonly Route[] = [
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
