import { z } from 'zod';
import { METRICS_CONTENT_TYPE } from '../../../metrics/fleet-metrics.ts';
import { readTraffic } from '../../../traffic/traffic.ts';
import { count, time } from '../../answers/fields.ts';
import { ROLES } from '../access/identity.ts';
import { route, type Route } from '../http/route.ts';

const API = { method: 'GET', needs: 'viewer', kind: 'api' } as const;

const session = z.object({
  name: z.string(),
  role: z.enum(ROLES),
  by: z.enum(['session', 'proxy', 'key']),
  csrf: z.string().describe('empty for an API key, which needs no token'),
});

const laneCounts = z.object({
  requests: count.describe('send requests'),
  accepted: count.describe('contacts that the service accepted'),
});
const lanes = { notices: laneCounts, chunks: laneCounts };

const traffic = z.object({
  at: time,
  minutes: z
    .array(z.object({ at: time.describe('its start'), ...lanes }).meta({ id: 'TrafficMinute' }))
    .describe('oldest first; the last one is not over yet'),
  total: z.object(lanes),
});

/** The session, traffic over time, and metrics. */
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
    path: '/api/v1/traffic',
    summary: 'Requests, and contacts that were accepted, of each minute of the last three hours.',
    answers: { 200: { says: 'The minutes and their sums.', schema: traffic } },
    handle: (_call, { redis, keys }) => readTraffic(redis, keys),
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
