import { z } from 'zod';
import { redriveRate } from '../../batch/failures/redrive-rate.ts';
import { DURATION_EXAMPLES, parseDuration } from '../../format/duration.ts';
import { readTime, TIME_FORMAT } from '../../format/time.ts';

/*
 * Fields of the input of operations. Texts of queries, forms and command lines are converted before (from-text.ts), so a
 * number is one here.
 */

const MAX_WHY = 200;

/** The reason of a manual action. */
export const why = z
  .string('expected a reason')
  .trim()
  .min(1, 'expected a reason')
  .max(MAX_WHY, `expected at most ${MAX_WHY} characters`)
  .describe('reason, for the audit stream');

/** The code of a template. */
export const template = z.string().min(1, 'expected a template code').max(200);

/** A point in time: milliseconds since the epoch. Text is read as ISO 8601. */
export const instant = z
  .union([z.int().min(0), z.string()])
  .transform((given, context) => {
    const at = typeof given === 'number' ? given : readTime(given);
    if (at !== undefined) return at;
    context.addIssue({ code: 'custom', message: `expected ${TIME_FORMAT}` });
    return z.NEVER;
  })
  .meta({ takes: 'time' });

/** A duration in milliseconds. Text is read with its unit. */
export const duration = z
  .union([z.int().min(0), z.string()])
  .transform((given, context) => {
    const ms = typeof given === 'number' ? given : parseDuration(given);
    if (ms !== undefined) return ms;
    const message = `expected a duration such as ${DURATION_EXAMPLES}, or milliseconds`;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  })
  .meta({ takes: 'duration' });

/** A whole number. */
export function whole(min: number, max: number) {
  const message = `expected a whole number from ${min} to ${max}`;
  return z.int(message).min(min, message).max(max, message);
}

/** Most per second. A request is bounded in time, so its answer says when to repeat it. */
export const rate = redriveRate.optional();

/** The field of an answer for it. */
export const waitMs = z
  .int()
  .optional()
  .describe('with a rate: milliseconds to wait before the request is repeated, so that it holds');
