import { z } from 'zod';
import { errorCodes } from '../answers/account-schemas.ts';
import { named } from '../answers/fields.ts';

/*
 * Schemas of answers that only the API has. The OpenAPI document is made of them and of those in ops/answers, and
 * tests check the answers against them. Callers must ignore unknown fields. Times are Redis time in
 * milliseconds since the epoch; null means "not yet" or "never".
 */

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
