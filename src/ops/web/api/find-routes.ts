import { z } from 'zod';
import { checkNumber } from '../../../batch/source/check-number.ts';
import { FAILED_STATES } from '../../../batch/failures/select-failures.ts';
import { NoticeQueueError } from '../../../contracts/errors.ts';
import { findInQueue, type FindReport } from '../../../search/find-contact.ts';
import type { OpsContext } from '../ops-context.ts';
import { json, route, type Route } from '../http/route.ts';

/** Searches of one caller in a minute: each goes through up to a thousand batches. */
export const FINDS_PER_MINUTE = 60;

const MAX_WRITTEN = 100;
const count = z.int().min(0);
const time = count.describe('milliseconds since the epoch');

/** A phone number as people write it. What is said of a wrong one does not repeat it. */
const number = z
  .string('expected a phone number')
  .max(MAX_WRITTEN, `expected at most ${MAX_WRITTEN} characters`)
  .superRefine((text, context) => {
    const checked = checkNumber(text);
    if (checked.kind === 'refused') context.addIssue({ code: 'custom', message: checked.reason });
  })
  .describe('in the national format; separators are taken out');

const found = {
  states: z
    .array(z.enum(['pending', 'accepted', ...FAILED_STATES]))
    .describe('what became of it; several where it is one of these'),
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
        .describe('false where the contact is deleted: it is probably this one'),
    }),
  ),
  searched: z
    .object({
      since: time.describe('what was handed over before is not found'),
      batches: count,
      contacts: count,
      unindexedChunks: count.describe('stored without FIND_KEY, or too long ago'),
      wrongHit: z
        .number()
        .describe('chances that a contact which is not confirmed is of another number, 0 to 1'),
    })
    .describe('how far the search could see'),
}) satisfies z.ZodType<FindReport>;

/** What became of the notices for one phone number. */
export const FIND_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/v1/find',
    needs: 'viewer',
    kind: 'api',
    summary: 'What became of the notices for one phone number; nothing that is answered holds it.',
    reads: true,
    perMinute: FINDS_PER_MINUTE,
    body: z.strictObject({ number }),
    answers: {
      200: {
        says: 'Single notices and contacts of batches, the newest first.',
        schema: findAnswer,
      },
      409: { says: 'FIND_KEY is not set: nothing is kept to find by.' },
    },
    handle: async ({ body }, context) => json(await findFor(context, body.number)),
  }),
];

/** Whether there is anything to find by. */
export function canFind({ findSettings }: OpsContext): boolean {
  return findSettings.findKey !== undefined;
}

/**
 * Searches with the server's own settings.
 *
 * @throws NoticeQueueError NOT_POSSIBLE without FIND_KEY, QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function findFor(context: OpsContext, written: string): Promise<FindReport> {
  if (!canFind(context)) {
    throw new NoticeQueueError(
      'NOT_POSSIBLE',
      'FIND_KEY is not set, so nothing is kept to find by: set the same 32 random bytes for producers, importers and the ops server; what is handed over from then on is found.',
    );
  }
  const { redis, keys, findSettings: settings } = context;
  return findInQueue({ redis, keys, settings }, written);
}
