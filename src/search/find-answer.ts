import { z } from 'zod';
import { FAILED_STATES } from '../batch/failures/failures.ts';
import { count, time, type Answer } from '../contracts/answer.ts';

const found = {
  states: z
    .array(z.enum(['pending', 'accepted', ...FAILED_STATES]))
    .describe('its state; several where only a set of possible states is known'),
  at: time,
  code: z.string().exactOptional().describe('why it was not accepted'),
};

/** What a search answers, over HTTP, with `--json` and to programs. */
export const findAnswer = z.object({
  notices: z.array(
    z.object({
      job: z.string(),
      template: z.string().exactOptional().describe('absent where the job is no longer kept'),
      ...found,
      confirmed: z
        .boolean()
        .describe('false where the job is no longer kept, or contacts of it were left out'),
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
      row: count.exactOptional().describe('row of the list; absent where the contact is deleted'),
      ...found,
      confirmed: z
        .boolean()
        .describe('false where the contact is deleted: it is probably this number'),
      possiblySent: count
        .exactOptional()
        .describe('of a suppressed one: attempts that the service may have accepted'),
    }),
  ),
  searched: z
    .object({
      since: time.describe('what was enqueued before is not found'),
      batches: count,
      contacts: count,
      unindexedChunks: count.describe('chunks stored without FIND_KEY, or too long ago'),
    })
    .describe('what the search covered'),
});

/** What became of the notices for one phone number. It contains no phone numbers. */
export type FindReport = Answer<z.output<typeof findAnswer>>;
export type FoundNotice = FindReport['notices'][number];
/** A contact of a batch that has the number, or probably has it (see `confirmed`). */
export type FoundContact = FindReport['contacts'][number];
export type FoundState = FoundNotice['states'][number];
