import { z } from 'zod';
import { DELIVERY_POLICIES } from '../../contracts/delivery.ts';
import { errorCodes } from '../answers/account-schemas.ts';
import { batchCounts } from '../answers/batch-schemas.ts';
import { count, named, time } from '../answers/fields.ts';
import { explainHold, type ExplainedHold } from '../manual-hold.ts';
import type { Status } from '../status.ts';

/*
 * Schemas of answers that only the API has. The OpenAPI document is made of them and of those in ops/answers, and
 * tests check the answers against them. Callers must ignore unknown fields. Times are Redis time in
 * milliseconds since the epoch; null means "not yet" or "never".
 */

/** The status as the API answers it: the hold with its texts. */
export type StatusAnswer = Omit<Status, 'hold'> & {
  readonly hold?: ExplainedHold;
};

export function statusToJson({ hold, ...status }: Status): StatusAnswer {
  return {
    ...status,
    ...(hold === undefined ? {} : { hold: explainHold(hold) }),
  };
}

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

export const problemAnswer = named(
  'Problem',
  z.looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.enum([...errorCodes, 'DEFECT']),
    issues: z.array(z.object({ field: z.string(), problem: z.string() })).optional(),
    retryAfter: z.number().optional().describe('in seconds'),
  }),
);
