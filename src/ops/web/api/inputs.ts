import { z } from 'zod';
import { checkNumber } from '../../../batch/source/check-number.ts';
import { BATCH_ID } from '../../../contracts/chunk-job.ts';

/** Path parameters of one batch. */
export const batchParams = z.strictObject({
  id: z.string().regex(BATCH_ID, 'expected 1 to 64 letters, digits, hyphens or underscores'),
});

const MAX_WHY = 200;

/** The reason of a manual action. */
export const why = z
  .string('expected a reason')
  .trim()
  .min(1, 'expected a reason')
  .max(MAX_WHY, `expected at most ${MAX_WHY} characters`)
  .describe('reason, for the audit stream');

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

/** A code of the service or of this program. */
export const code = z.string().min(1).max(64);

const MAX_WRITTEN = 100;

/** A phone number in any notation. The error for an invalid one does not repeat it. */
export const number = z
  .string('expected a phone number')
  .max(MAX_WRITTEN, `expected at most ${MAX_WRITTEN} characters`)
  .superRefine((text, context) => {
    const checked = checkNumber(text);
    if (checked.kind === 'refused') context.addIssue({ code: 'custom', message: checked.reason });
  })
  .describe('in the national format; separators are removed');
