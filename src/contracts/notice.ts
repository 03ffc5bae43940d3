import { z } from 'zod';

/**
 * The words of this project, used everywhere and no others:
 *
 * - notice: what a caller asks for: template code, schedule type, sender keys, contacts.
 * - contact: one recipient and the values of the template's variables.
 * - job: one unit in the queue; one job is one send call.
 * - chunk: the contacts of one job, where a notice has more of them than fit one call.
 * - attempt: one try of a job. It makes one send call, or two when the token had to be renewed.
 * - outcome: what is known after an attempt (outcome.ts).
 * - hold: the whole queue stands still for a reason that is not a job's fault (hold.ts).
 * - token, token id, fence: the bearer value; a hash that names it; a counter that only grows, so
 *   that a late holder cannot overwrite a newer token (token.ts).
 * - account: one key pair with its queue, token slot, holds and limits.
 * - emulator: our stand-in of the messaging service.
 *
 * The bounds on lengths below are ours, and generous: the service's own are not shown.
 */

/** Names of a contact's fields that hold the values of the template's variables. */
export const VARIABLE_NAME = /^var[1-9][0-9]*$/;
/** The longest value of such a field, in UTF-16 units. */
export const MAX_VALUE_LENGTH = 4_096;
const MAX_NAME_LENGTH = 200;

const name = (what: string) =>
  z
    .string(`expected ${what} as text`)
    .min(1, `expected ${what}, got an empty text`)
    .regex(/\S/, `expected ${what}, got nothing but spaces`)
    .max(MAX_NAME_LENGTH, `expected at most ${MAX_NAME_LENGTH} characters`);

/**
 * One recipient. Fields that are not named here pass through to the service untouched; every
 * `varN` must be text (service-api, Contact object).
 */
export const contactSchema = z
  .looseObject(
    {
      contact: z
        .string('expected a phone number as text')
        .regex(
          /^[0-9]{1,20}$/,
          'expected a phone number in the national format: 1 to 20 digits, no separators, no plus sign',
        )
        .describe('phone number in the national format: digits only, no separators, no plus sign'),
    },
    'expected a contact object',
  )
  .superRefine((contact, context) => {
    for (const [field, value] of Object.entries(contact)) {
      if (!VARIABLE_NAME.test(field)) continue;
      if (typeof value !== 'string') {
        context.addIssue({ code: 'custom', path: [field], message: 'expected text' });
      } else if (value.length > MAX_VALUE_LENGTH) {
        context.addIssue({
          code: 'custom',
          path: [field],
          message: `expected at most ${MAX_VALUE_LENGTH} characters`,
        });
      }
    }
  });

/** What a caller asks for. Fields that are not named here pass through to the service untouched. */
export const noticeSchema = z.looseObject(
  {
    templateCode: name('a template code').describe('code of the message template'),
    scheduleType: name('a schedule type')
      .default('DIRECTLY')
      .describe('when the service sends; DIRECTLY (at once) is the one value its document shows'),
    chatSenderKey: name('a sender key')
      .optional()
      .describe(
        'sender key of the messenger channel; DEFAULT_CHAT_SENDER_KEY of the worker when left out',
      ),
    senderKey: name('a sender key')
      .optional()
      .describe('sender key for SMS; DEFAULT_SENDER_KEY of the worker when left out'),
    contacts: z
      .array(contactSchema, 'expected a list of contacts')
      .min(1, 'expected at least one contact')
      .describe(
        'the recipients, each with the values of the variables of the template: var1, var2, ...',
      ),
  },
  'expected a notice object',
);

/** A notice that was checked, with its defaults in place. */
export type CheckedNotice = z.output<typeof noticeSchema>;

/** A contact as the caller writes it. */
export interface Contact {
  /** Phone number in the national format, digits only. */
  contact: string;
  /** Values of the template's variables `var1`, `var2`, ..., and fields that pass through untouched. */
  [field: string]: unknown;
}

/** A notice as the caller writes it. */
export interface Notice {
  templateCode: string;
  /** @default 'DIRECTLY' */
  scheduleType?: string | undefined;
  chatSenderKey?: string | undefined;
  senderKey?: string | undefined;
  contacts: Contact[];
  /** Fields that pass through to the service untouched. */
  [field: string]: unknown;
}

/** What the producer answers once the queue holds the notice. */
export interface Receipt {
  /** Names the notice in logs and in status; its jobs' ids begin with it. */
  readonly id: string;
  /** Ids of the jobs, in the order of the contacts. */
  readonly jobs: readonly string[];
  /** How many contacts the notice has. */
  readonly contacts: number;
  /** True when an earlier call with the same idempotency key stands and this one queued nothing. */
  readonly duplicate: boolean;
}
