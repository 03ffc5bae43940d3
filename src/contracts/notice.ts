import { z } from 'zod';

/*
 * The shape of a notice and of its contacts, as schemas and as public types. docs/architecture.md
 * contains the glossary. The service's document shows no limits on lengths; those below are ours.
 */

/** Names of the contact fields that contain values of template variables. */
export const VARIABLE_NAME = /^var[1-9][0-9]*$/;
/** The most UTF-16 units of such a value. */
export const MAX_VALUE_LENGTH = 4_096;
/** A phone number in the national format. */
export const PHONE_NUMBER = /^[0-9]{1,20}$/;
/** The most contacts of a notice: one notice is one send request. A longer list is imported. */
export const MAX_CONTACTS = 1_000;
const MAX_NAME_LENGTH = 200;
const NOT_BLANK = /\S/;

const name = (what: string) =>
  z
    .string(`expected ${what} as text`)
    .min(1, `expected ${what}, got an empty string`)
    .regex(NOT_BLANK, `expected ${what}, got only spaces`)
    .max(MAX_NAME_LENGTH, `expected at most ${MAX_NAME_LENGTH} characters`);

/** Whether a value is a code or key of a notice, as its schema has it. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_NAME_LENGTH && NOT_BLANK.test(value);
}

/**
 * One recipient. Fields that are not listed are sent to the service unchanged; each `varN` must be text
 * (service-api, Contact object).
 */
export const contactSchema = z
  .looseObject(
    {
      contact: z
        .string('expected a phone number as text')
        .regex(
          PHONE_NUMBER,
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

/** A message to send. Fields that are not listed are sent to the service unchanged. */
export const noticeSchema = z.looseObject(
  {
    templateCode: name('a template code').describe('code of the message template'),
    scheduleType: name('a schedule type')
      .default('DIRECTLY')
      .describe('when the service sends; DIRECTLY (at once) is the only value in its document'),
    chatSenderKey: name('a sender key')
      .optional()
      .describe(
        'sender key of the messenger channel; default: DEFAULT_CHAT_SENDER_KEY of the worker',
      ),
    senderKey: name('a sender key')
      .optional()
      .describe('sender key for SMS; default: DEFAULT_SENDER_KEY of the worker'),
    contacts: z
      .array(contactSchema, 'expected a list of contacts')
      .min(1, 'expected at least one contact')
      .max(MAX_CONTACTS, 'expected at most 1,000 contacts: import() takes a list of any length')
      .describe('the recipients, each with the values of the template variables: var1, var2, ...'),
  },
  'expected a notice object',
);

/** A valid notice with default values filled in. */
export type CheckedNotice = z.output<typeof noticeSchema>;

/** A recipient as it is stored and sent: also with fields that are not known here. */
export interface Contact {
  contact: string;
  [field: string]: unknown;
}

/** A notice as it is stored and sent; what an application hands over is a `GivenNotice` (read-notice.ts). */
export interface Notice {
  templateCode: string;
  scheduleType?: string | undefined;
  chatSenderKey?: string | undefined;
  senderKey?: string | undefined;
  contacts: Contact[];
  [field: string]: unknown;
}

/** Result of `send`: the notice is stored in the queue. It does not mean that it was sent. */
export interface Receipt {
  /** Id of the notice and of its job, as logs, status and commands show it. */
  readonly id: string;
  /** Number of contacts of the notice. */
  readonly contacts: number;
  /**
   * Whether an earlier call with the same idempotency key queued the notice. Then this call queued
   * nothing, and `id` is that of the earlier call.
   */
  readonly duplicate: boolean;
}
