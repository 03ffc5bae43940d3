import { z } from 'zod';
import { InputError } from '../contracts/errors.ts';
import { parseInput } from '../contracts/parse-input.ts';
import { FAILED_NOTICE_STATES } from '../notices/failed-notices.ts';

/*
 * Schemas of what a program passes to NoticeAdmin. A value of another type than declared must not select more than was
 * meant: `before: NaN`, a Date or a mistyped name would be all failed notices.
 */

const TIME = 'expected a time in milliseconds since the epoch';
const time = z.custom<number>((value) => typeof value === 'number' && !Number.isNaN(value), TIME);

const COUNT = 'expected a whole number of 0 or more, or Infinity';
const count = z.custom<number>(
  (value) => value === Infinity || (Number.isInteger(value) && Number(value) >= 0),
  COUNT,
);

const text = z.string('expected text').optional();
const states = `expected ${FAILED_NOTICE_STATES.join(' or ')}`;
const state = z.enum(FAILED_NOTICE_STATES, states);

const filter = {
  code: text,
  template: text,
  possiblySent: z.boolean('expected true or false').optional(),
  before: time.optional(),
  since: time.optional(),
};

/** FailedFilter */
export const filterSchema = z.strictObject({ ...filter, state: state.optional() });

/** FailedSelection */
export const selectionSchema = z.strictObject({
  ...filter,
  state,
  ids: z.array(z.string('expected an id as text'), 'expected a list of ids').optional(),
  limit: count.optional(),
});

/** A FailedSelection of rejected notices: unknown ones are discarded by resolving them. */
export const rejectedSchema = selectionSchema.extend({
  state: z.literal('rejected', "expected 'rejected'"),
});

const failureStates = ['rejected', 'unknown', 'expired'] as const;

/** RedriveSelection, but for its rate */
export const batchSelectionSchema = z.strictObject({
  state: z.enum(failureStates, `expected ${failureStates.join(' or ')}`),
  code: text,
  before: time.optional(),
  limit: count.optional(),
  rate: z.unknown().optional(),
});

/** How many are read. */
export const mostSchema = count;

/** Whether idempotency keys are released. */
export const releaseSchema = z.boolean('expected true or false').optional();

/** @throws InputError REQUEST_INVALID that names every invalid field */
export function checked(schema: z.ZodType, value: unknown, name = ''): void {
  parseInput(schema, value, 'REQUEST_INVALID', name, 'selection');
}

/** The most batches of a list. @throws InputError REQUEST_INVALID if it is no number */
export function readLimit(limit: unknown, most: number): number {
  if (typeof limit !== 'number' || Number.isNaN(limit)) {
    throw new InputError('REQUEST_INVALID', [{ field: 'limit', problem: 'expected a number' }]);
  }
  return Math.min(Math.max(1, Math.trunc(limit)), most);
}

/** Who acts: 1 to 100 characters; more are cut off. @throws InputError CONFIG_INVALID */
export function readWho(who: unknown): string {
  if (typeof who !== 'string' || who === '') {
    const problem = 'expected text of 1 to 100 characters';
    throw new InputError('CONFIG_INVALID', [{ field: 'who', problem }]);
  }
  return who.slice(0, 100);
}
