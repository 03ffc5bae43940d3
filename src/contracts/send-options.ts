import { z } from 'zod';
import { DELIVERY_POLICIES, type DeliveryPolicy } from './delivery.ts';

/** Lowest priority that BullMQ knows. */
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

/** Options of one send, checked; times become milliseconds since the epoch. */
export const sendOptionsSchema = z
  .strictObject(
    {
      idempotencyKey: z
        .string('expected text')
        .min(1, 'expected a key, got an empty text')
        .max(200, 'expected at most 200 characters')
        .optional(),
      delay: z
        .int('expected whole milliseconds')
        .min(0, 'expected 0 or more milliseconds')
        .max(MAX_DELAY_MS, 'expected at most 366 days')
        .optional(),
      sendAt: time('sendAt').optional(),
      expiresAt: time('expiresAt').optional(),
      priority: z
        .int('expected a whole number')
        .min(0, 'expected 0 (first) or more')
        .max(MAX_PRIORITY, `expected at most ${MAX_PRIORITY}`)
        .optional(),
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
    if (options.sendAt !== undefined && options.sendAt < now) {
      refuse('sendAt', 'expected a time that has not passed');
    }
    if (options.sendAt !== undefined && options.sendAt > now + MAX_DELAY_MS) {
      refuse('sendAt', 'expected a time within the next 366 days');
    }
    const start = options.sendAt ?? now + (options.delay ?? 0);
    if (options.expiresAt !== undefined && options.expiresAt <= start) {
      refuse('expiresAt', 'expected a time after the notice may first be sent');
    }
  });

/** Options of one send as the caller writes them. All of them may be left out. */
export interface SendOptions {
  /**
   * Same key, one send: within the idempotency window (a day unless configured) a second call
   * queues nothing and its receipt names the first notice, with `duplicate: true`. It also makes a
   * call safe to repeat after QUEUE_UNAVAILABLE. The notice must be the same, apart from the order
   * of its fields; `delay`, `sendAt`, `expiresAt`, `priority` and `delivery` are those of the first call.
   *
   * A job that somebody removes from the queue by hand takes its key with it.
   */
  idempotencyKey?: string | undefined;
  /** Milliseconds before the notice may be sent; at most 366 days. */
  delay?: number | undefined;
  /** When the notice may be sent: a Date, milliseconds since the epoch, or ISO 8601 text with a zone. */
  sendAt?: Date | number | string | undefined;
  /** When it is too late: a notice that has not been sent by then never is. Same forms as `sendAt`. */
  expiresAt?: Date | number | string | undefined;
  /**
   * 0 goes first, then 1, 2 and so on; a whole number up to 2,097,151.
   * @default 0
   */
  priority?: number | undefined;
  /**
   * What happens when an attempt's outcome is unknown: `at-least-once` sends again, `at-most-once`
   * never does and costs two more round trips to Redis; `notices unknown` lists what that leaves.
   * @default the queue's `delivery`
   */
  delivery?: DeliveryPolicy | undefined;
}
