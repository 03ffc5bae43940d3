import { z } from 'zod';
import { FAILED_STATES } from '../../../batch/failures/select-failures.ts';
import { NoticeQueueError } from '../../../contracts/errors.ts';
import { findInQueue, type FindReport } from '../../../search/find-contact.ts';
import { auditSearch } from '../../audit.ts';
import type { OpsContext } from '../ops-context.ts';
import { json, route, type Route } from '../http/route.ts';
import { number } from './inputs.ts';

/** Searches per caller and minute; each reads up to a thousand batches. */
export const FINDS_PER_MINUTE = 60;

const count = z.int().min(0);
const time = count.describe('milliseconds since the epoch');

const found = {
  states: z
    .array(z.enum(['pending', 'accepted', ...FAILED_STATES]))
    .describe('its state; several where only a set of possible states is known'),
  at: time,
  code: z.string().exactOptional().describe('why it was not accepted'),
};

const findAnswer = z.object({
  notices: z.array(
    z.object({
      job: z.string(),
      template: z.string().exactOptional().describe('absent where the job is no longer kept'),
      ...found,
      confirmed: z.boolean().describe('false where the job is no longer kept'),
      possiblySent: count
        .exactOptional()
        .describe('attempts that the service may have accepted without saying so; absent for none'),
    }),
  ),
  contacts: z.array(
    z.object({
      batch: z.string(),
      template: z.string(),
      chunk: count,
      ...found,
      confirmed: z
        .boolean()
        .describe('false where the contact is deleted: it is probably this number'),
    }),
  ),
  searched: z
    .object({
      since: time.describe('what was enqueued before is not found'),
      batches: count,
      contacts: count,
      unindexedChunks: count.describe('chunks stored without FIND_KEY, or too long ago'),
      wrongHit: z
        .number()
        .describe('probability that an unconfirmed contact belongs to another number, 0 to 1'),
    })
    .describe('what the search covered'),
}) satisfies z.ZodType<FindReport>;

/** The search for the notices of one phone number. */
export const FIND_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/v1/find',
    needs: 'viewer',
    kind: 'api',
    summary: 'What happened to the notices for one phone number; the answer does not contain it.',
    reads: true,
    perMinute: FINDS_PER_MINUTE,
    body: z.strictObject({ number }),
    answers: {
      200: {
        says: 'Single notices and contacts of batches, newest first.',
        schema: findAnswer,
      },
      409: { says: 'FIND_KEY is not set, so the search is off.' },
    },
    handle: async ({ body, name }, context) => json(await findFor(context, name, body.number)),
  }),
];

/** Whether the search is on. */
export function canFind({ findSettings }: OpsContext): boolean {
  return findSettings.findKey !== undefined;
}

/**
 * Searches with the server's own settings, and records the search in the audit stream.
 *
 * @throws NoticeQueueError NOT_POSSIBLE without FIND_KEY, QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function findFor(
  context: OpsContext,
  who: string,
  written: string,
): Promise<FindReport> {
  if (!canFind(context)) {
    throw new NoticeQueueError(
      'NOT_POSSIBLE',
      'The search is off because FIND_KEY is not set: set the same 32 random bytes for producers, importers and the ops server. The search finds what is enqueued from then on.',
    );
  }
  const { redis, keys, sealing, findSettings: settings } = context;
  await auditSearch(redis, keys, { who, why: '' }, written);
  return findInQueue({ redis, keys, sealing, settings }, written);
}
