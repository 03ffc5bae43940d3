import { z } from 'zod';
import { DELIVERY_POLICIES } from '../../contracts/outcome.ts';
import { STAGES } from '../../notices/ended.ts';
import type { UnknownNotice } from '../unknown.ts';
import type { UnknownOfBatch } from '../unknown/parts.ts';
import type { SelectedReport } from '../unknown/resolve-selected.ts';
import { count, time } from './fields.ts';

/** A single notice whose outcome is unknown. */
export const unknownNotice = z.object({
  id: z.string(),
  at: time,
  template: z.string(),
  contacts: count,
  code: z.string(),
  stage: z.enum(STAGES),
  delivery: z.enum(DELIVERY_POLICIES),
  possiblySent: count.describe(
    'attempts, also before it was sent again, that the service may have accepted; sent again, it may arrive once more',
  ),
  traceIds: z
    .array(z.string())
    .readonly()
    .exactOptional()
    .describe('of the service, for those of them that it answered, oldest first; the newest ten'),
}) satisfies z.ZodType<UnknownNotice>;

/** The unknown outcomes of one batch. */
export const unknownOfBatch = z.object({
  batch: z.string(),
  template: z.string(),
  at: time.describe('when the oldest became unknown: milliseconds since the epoch'),
  contacts: count,
  parts: count.describe('chunks and parts of chunks'),
  codes: z.array(z.string()),
}) satisfies z.ZodType<UnknownOfBatch>;

/** What was resolved. */
export const resolvedAnswer = z.object({
  resolved: count.describe('notices, or chunks and parts of chunks'),
  contacts: count,
  gone: count.describe('not unknown (any more)'),
  late: count.describe('not queued again, because their deadline has passed'),
  stopped: z.boolean().describe('it was stopped: repeat it for the rest'),
  refused: z
    .array(z.object({ batch: z.string(), reason: z.string() }))
    .describe('batches that match and cannot be sent again in their phase'),
}) satisfies z.ZodType<SelectedReport>;
