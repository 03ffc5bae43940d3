import { z } from 'zod';
import { count } from '../ops/answers/fields.ts';
import type { EraseReport } from './erase-number.ts';

/** What `notices erase --json` writes. */
export const eraseAnswer = z.object({
  number: z.string().describe('masked'),
  notices: z.object({
    cancelled: count.describe('jobs that waited; they are never sent'),
    removed: count.describe('jobs that had ended'),
    shortened: count.describe('jobs for several people, from which the contact was removed'),
  }),
  batches: z.array(
    z.object({
      batch: z.string(),
      waiting: count.describe('chunks that waited: the contact is never sent'),
      ended: count.describe('failures'),
    }),
  ),
  index: z
    .object({
      notices: count.describe('entries of single notices'),
      chunks: count.describe('fingerprints of chunks'),
      keys: count.describe('idempotency keys of notices whose jobs were deleted before'),
    })
    .nullable()
    .describe('null without FIND_KEY: the search index was not changed'),
  left: z
    .array(
      z.object({
        notice: z.string().exactOptional(),
        batch: z.string().exactOptional(),
        chunk: count.exactOptional(),
        reason: z.enum(['sending', 'possibly-sent', 'changed']),
      }),
    )
    .describe('what is still stored; run the command again later'),
  unreadable: z
    .object({ notices: count, chunks: count })
    .describe('what could not be decrypted, or has a newer version; it may contain the number'),
  importing: z
    .array(z.string())
    .describe('batches that are being imported: the rest of their lists may contain the number'),
  stopped: z.boolean(),
}) satisfies z.ZodType<EraseReport>;
