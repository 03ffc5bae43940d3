import { z } from 'zod';
import { NoticeQueueError } from '../../../contracts/errors.ts';
import { findAnswer } from '../../../search/find-answer.ts';
import type { FindReport } from '../../../search/find-contact.ts';
import { findInQueue } from '../../../search/find-in-queue.ts';
import { auditSearch } from '../../audit.ts';
import type { OpsContext } from '../ops-context.ts';
import { json, route, type Route } from '../http/route.ts';
import { number } from '../../operations/fields.ts';

/** Searches per caller and minute; each reads up to a thousand batches. */
export const FINDS_PER_MINUTE = 60;

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
 * @throws NoticeQueueError NOT_POSSIBLE without FIND_KEY, TOO_MANY_REQUESTS, QUEUE_UNAVAILABLE or QUEUE_REFUSED
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
