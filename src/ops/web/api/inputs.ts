import { z } from 'zod';
import { BATCH_ID } from '../../../contracts/batch-id.ts';

/** Path parameters of one batch. */
export const batchParams = z.strictObject({
  id: z.string().regex(BATCH_ID, 'expected 1 to 64 letters, digits, hyphens or underscores'),
});

/** A whole number in a query string. */
export function queryNumber(min: number, max: number, fallback: number) {
  const message = `expected a whole number from ${min} to ${max}`;
  return z
    .string(message)
    .regex(/^\d{1,9}$/, message)
    .transform(Number)
    .pipe(z.int(message).min(min, message).max(max, message))
    .default(fallback)
    .meta({ type: 'integer', pattern: undefined, minimum: min, maximum: max });
}
