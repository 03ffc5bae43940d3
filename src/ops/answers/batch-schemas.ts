import { z } from 'zod';
import { FAILED_STATES, type FailureGroup } from '../../batch/failures/failures.ts';
import type { BatchCounts } from '../../batch/ledger/batch-record.ts';
import { DELIVERY_POLICIES } from '../../contracts/outcome.ts';
import { count, named, time } from '../../contracts/answer.ts';

/** Contacts of a batch by state. */
const batchCounts = z
  .object({
    total: count,
    pending: count,
    sending: count.describe('pending contacts in an attempt that is in progress'),
    accepted: count,
    rejected: count,
    unknown: count,
    expired: count,
    cancelled: count,
    suppressed: count.describe('on the do-not-send list when they were to be sent'),
    possiblySentTwice: count.describe(
      'contacts sent again after an unknown outcome: the most messages that can have arrived twice; not a state',
    ),
  })
  .describe(
    'contacts by state; pending, accepted, rejected, unknown, expired, cancelled and suppressed add up to the total',
  ) satisfies z.ZodType<BatchCounts>;

/** Contacts that were not accepted, with the same state and code. */
export const failureGroup = named(
  'FailureGroup',
  z.object({
    state: z.enum(FAILED_STATES),
    code: z.string(),
    contacts: count,
    message: z.string().describe('message of the service for one of the contacts, masked'),
  }),
) satisfies z.ZodType<FailureGroup>;

export const batchAnswer = named(
  'Batch',
  z.object({
    id: z.string(),
    phase: z.enum(['importing', 'sending', 'paused', 'cancelled', 'finished']),
    templateCode: z.string(),
    delivery: z.enum(DELIVERY_POLICIES),
    chunkSize: count.describe('contacts of a full chunk'),
    expiresAt: time.nullable(),
    rate: count.describe('limit in contacts per second; 0 for no limit'),
    counts: batchCounts,
    begunAt: time,
    importedAt: time.nullable(),
    finishedAt: time.nullable(),
    movedAt: time.nullable(),
    keptUntil: time.nullable(),
    chunks: count,
    rows: count.describe('rows of the list that were read so far'),
    refusedRows: count,
    duplicateRows: count,
    stalled: z
      .boolean()
      .describe('no progress for more than a minute, and nothing is known that would explain it'),
    perSecond: z.number().min(0).describe('average contacts per second since its start'),
    restMs: z
      .number()
      .nullable()
      .describe('remaining time at that rate, in milliseconds; null where nothing of it is sent'),
    lossNear: z
      .object({ contacts: count, keptUntil: time, restMs: z.number() })
      .optional()
      .describe('contacts that were not accepted and will be deleted soon'),
  }),
);

/** A batch as the API answers it, without its notice data, which may hold the number of a sender. */
export type BatchAnswer = z.output<typeof batchAnswer>;
