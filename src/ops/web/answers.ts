import { z } from 'zod';
import { errorCodes } from '../answers/account-schemas.ts';
import { named } from '../answers/fields.ts';
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
