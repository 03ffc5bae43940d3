import { z } from 'zod';
import { ROLES } from '../access/identity.ts';
import { json, route, type Route } from '../http/route.ts';

/** The session. */
export const STATUS_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/session',
    needs: 'viewer',
    kind: 'api',
    summary: 'The caller, and the token that a change by script must send as X-CSRF-Token.',
    answers: {
      200: {
        says: 'The caller.',
        schema: z.object({
          name: z.string(),
          role: z.enum(ROLES),
          by: z.enum(['session', 'proxy', 'key']),
          csrf: z.string().describe('empty for an API key, which needs no token'),
        }),
      },
    },
    handle: ({ who, name, csrf }) => json({ name, role: who?.role, by: who?.by, csrf }),
  }),
];
