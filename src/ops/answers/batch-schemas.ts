import { z } from 'zod';
import type { FailureGroup } from '../../batch/failures/failure-groups.ts';
import type { RedriveReport } from '../../batch/failures/redrive-batch.ts';
import { FAILED_STATES } from '../../batch/failures/select-failures.ts';
import type { BatchCounts } from '../../batch/ledger/batch-record.ts';
import { count, named } from './fields.ts';

/** Contacts of a batch by state. */
export const batchCounts = z
  .object({
    total: count,
    pending: count,
    sending: count.describe('pending contacts in an attempt that is in progress'),
    accepted: count,
    rejected: count,
    unknown: count,
    expired: count,
    cancelled: count,
    possiblySentTwice: count.describe(
      'contacts sent again after an unknown outcome: the most messages that can have arrived twice; not a state',
    ),
  })
  .describe(
    'contacts by state; pending, accepted, rejected, unknown, expired and cancelled add up to the total',
  ) satisfies z.ZodType<BatchCounts>;

/** Contacts of a batch that were not accepted, with the same state and code. */
export const failureGroup = named(
  'FailureGroup',
  z.object({
    state: z.enum(FAILED_STATES),
    code: z.string(),
    contacts: count,
    parts: count.describe('chunks and parts of chunks; each is redriven as a whole'),
    message: z.string().describe('message of the service for one of the contacts, masked'),
  }),
) satisfies z.ZodType<FailureGroup>;

/** What a redrive of a batch did. */
export const redriveAnswer = z.object({
  batch: z.string(),
  redriven: count.describe('contacts'),
  chunks: count,
  left: count.describe('contacts that match and were left unchanged'),
  gone: count.describe('contacts that are no longer available'),
  reason: z
    .string()
    .exactOptional()
    .describe('why the rest cannot be redriven now; absent where it can, or nothing is left'),
}) satisfies z.ZodType<RedriveReport>;
