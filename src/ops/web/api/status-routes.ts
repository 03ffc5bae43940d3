import { z } from 'zod';
import { readAudit, withoutNumbers, type KeptAudit } from '../../audit.ts';
import type { Identity } from '../access/identity.ts';
import type { OpsContext } from '../ops-context.ts';
import { ROLES } from '../access/identity.ts';
import { auditEntry, statusAnswer, workerAnswer } from '../../answers/account-schemas.ts';
import { statusToJson } from '../answers.ts';
import { json, route, type Route } from '../http/route.ts';
import { queryNumber } from './inputs.ts';

/** The latest entries of the audit stream; to a viewer without numbers in the reasons that people typed. */
export async function auditFor(
  who: Identity | undefined,
  { redis, keys }: Pick<OpsContext, 'redis' | 'keys'>,
  limit: number,
): Promise<KeptAudit[]> {
  const entries = await readAudit(redis, keys, limit);
  if (who?.role === 'operator') return entries;
  return entries.map((entry) => ({ ...entry, why: withoutNumbers(entry.why) }));
}

/** Status, workers, audit stream, session and live events. */
export const STATUS_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/status',
    needs: 'viewer',
    kind: 'api',
    summary: 'The state of the account: jobs, hold, rate limit, token, workers, Redis.',
    answers: { 200: { says: 'The status.', schema: statusAnswer } },
    handle: async (_call, { status }) => json(statusToJson(await status())),
  }),
  route({
    method: 'GET',
    path: '/api/v1/workers',
    needs: 'viewer',
    kind: 'api',
    summary: 'The live worker processes.',
    answers: {
      200: {
        says: 'In the order of their start.',
        schema: z.object({ workers: z.array(workerAnswer) }),
      },
    },
    handle: async (_call, { fleet }) => json(await fleet.read('workers')),
  }),
  route({
    method: 'GET',
    path: '/api/v1/audit',
    needs: 'viewer',
    kind: 'api',
    summary:
      'The audit stream: manual actions, newest first. Only operators see digits of reasons that could be a phone number.',
    query: z.object({ limit: queryNumber(1, 1_000, 100) }),
    answers: {
      200: {
        says: 'The latest entries.',
        schema: z.object({
          entries: z.array(auditEntry),
        }),
      },
    },
    handle: async ({ query: { limit }, who }, context) =>
      json({ entries: await auditFor(who, context, limit) }),
  }),
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

export const EVENT_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/events',
    needs: 'viewer',
    kind: 'api',
    summary:
      'Server-sent events, once a second: `status` (Status), and `trouble` (cause, since) while Redis is away.',
    answers: { 200: { says: 'An endless stream.', type: 'text/event-stream' } },
    perMinute: 120,
    handle: () => ({ kind: 'events' }),
  }),
];
