import { z } from 'zod';
import { DELIVERY_POLICIES } from './outcome.ts';
import type { GivenNotice } from './notice.ts';
import { parseInput } from './parse-input.ts';

/** The lowest priority of BullMQ. */
const MAX_PRIORITY = 2_097_151;
const MAX_DELAY_MS = 366 * 24 * 3_600_000;

const time = (what: string) => {
  const message = `expected ${what} as a Date, milliseconds since the epoch, or ISO 8601 text with a zone`;
  return z
    .union(
      [
        z.date(message),
        z.int(message).positive(message),
        z.iso.datetime({ offset: true, error: message }).transform((text) => new Date(text)),
      ],
      message,
    )
    .transform((value) => (typeof value === 'number' ? value : value.getTime()));
};

export const idempotencyKey = z
  .string('expected text')
  .min(1, 'expected a key, got an empty string')
  .max(200, 'expected at most 200 characters');

export const TOO_LATE = 'expected a time after the earliest time of sending';

/** Whether a notice would expire before it may be sent. */
export function isTooLate(options: {
  readonly expiresAt?: number | undefined;
  readonly sendAt?: number | undefined;
  readonly delay?: number | undefined;
}): boolean {
  const { expiresAt, sendAt = 0, delay = 0 } = options;
  return expiresAt !== undefined && expiresAt <= Math.max(sendAt, Date.now() + delay);
}

/** Times become milliseconds since the epoch. */
export const sendOptionsSchema = z
  .strictObject(
    {
      /**
       * Prevents sending twice: a second call with the same key queues nothing, and its receipt has the id
       * of the first notice and `duplicate: true`. Use it to repeat a call safely after QUEUE_UNAVAILABLE.
       * 1 to 200 characters; valid until `idempotencyWindowMs` (default: a day) after the notice is due, which is
       * at once, or after `delay` or at `sendAt`. When sending is held for longer than that, a repeated call
       * queues the notice a second time.
       *
       * The notice must be the same, except for the order of its fields; otherwise the call throws
       * IDEMPOTENCY_CONFLICT. `delay`, `sendAt`, `expiresAt`, `priority` and `delivery` of the first call
       * apply. Removing the job from the queue manually also removes its key.
       *
       * @example 'order-1001-shipped'
       */
      idempotencyKey: idempotencyKey.optional(),
      /**
       * Earliest time of sending, in milliseconds from now; at most 366 days. Excludes `sendAt`.
       * @default 0
       */
      delay: z
        .int('expected whole milliseconds')
        .min(0, 'expected 0 or more milliseconds')
        .max(MAX_DELAY_MS, 'expected at most 366 days')
        .optional(),
      /**
       * Earliest time of sending, at most 366 days from now: a Date, milliseconds since the epoch, or ISO 8601
       * text with a time zone. A time in the past means now. Excludes `delay`.
       * @example '2027-03-01T09:00:00+09:00'
       */
      sendAt: time('sendAt').optional(),
      /**
       * Latest time of sending; after it the notice expires and is not sent. Same formats as `sendAt`.
       * @default never
       */
      expiresAt: time('expiresAt').optional(),
      /**
       * Notices with a lower number are sent first: 0 to 2,097,151.
       * @default 0
       */
      priority: z
        .int('expected a whole number')
        .min(0, 'expected 0 (first) or more')
        .max(MAX_PRIORITY, `expected at most ${MAX_PRIORITY}`)
        .optional(),
      /**
       * What happens when the outcome of an attempt is unknown (for example a timeout, after which the
       * service may or may not have sent the message). `at-least-once` sends again: a message may arrive
       * twice. `at-most-once` does not: the notice is listed by `notices failures --state unknown` and a person decides; it
       * costs two more round trips to Redis.
       * @default the queue's `delivery`
       */
      delivery: z.enum(DELIVERY_POLICIES, `expected ${DELIVERY_POLICIES.join(' or ')}`).optional(),
    },
    'expected an options object',
  )
  .superRefine((options, context) => {
    const refuse = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message });
    const now = Date.now();
    if (options.delay !== undefined && options.sendAt !== undefined) {
      refuse('sendAt', 'expected either delay or sendAt, not both');
    }
    if (options.sendAt !== undefined && options.sendAt > now + MAX_DELAY_MS) {
      refuse('sendAt', 'expected a time within the next 366 days');
    }
    // A repeated call is answered by its key, whatever the time.
    if (options.idempotencyKey === undefined && isTooLate(options)) {
      refuse('expiresAt', TOO_LATE);
    }
  });

/** Options of `send` and `sendMany`. All are optional. */
export type SendOptions = z.input<typeof sendOptionsSchema>;

/**
 * Options of `sendMany`: the same for all notices, or a function that returns those of each notice.
 */
export type SendManyOptions<Notice = GivenNotice> =
  SendOptions | ((notice: Notice, index: number) => SendOptions | undefined);

/** Options of one send, checked. */
export type CheckedOptions = z.output<typeof sendOptionsSchema>;

/** @throws InputError NOTICE_INVALID */
export function readOptions(options: unknown, place: string): CheckedOptions {
  return parseInput(sendOptionsSchema, options, 'NOTICE_INVALID', place);
}

/** Options for all notices are checked once, before the first notice is read. */
export function optionsForEach<Notice>(
  options: SendManyOptions<Notice>,
): (notice: Notice, index: number) => CheckedOptions {
  if (typeof options === 'function') {
    return (notice, index) =>
      readOptions(options(notice, index) ?? {}, `notices[${index}] options`);
  }
  const checked = readOptions(options, 'options');
  const { idempotencyKey: key } = checked;
  if (key === undefined) return () => checked;
  return (_, index) => ({ ...checked, idempotencyKey: `${key}/${index}` });
}
