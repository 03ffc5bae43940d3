import { z } from 'zod';
import type { InputIssue } from './errors.ts';
import { fieldPath, parseInput, shownName, whyNotField } from './parse-input.ts';

/*
 * The shape of a notice and of its contacts, as schemas and as public types. docs/architecture.md
 * contains the glossary. The service's document shows no limits on lengths; those below are ours.
 */

/** Names of the contact fields that contain values of template variables. */
export const VARIABLE_NAME = /^var[1-9][0-9]*$/;
/** The most UTF-16 units of such a value. */
export const MAX_VALUE_LENGTH = 4_096;
export const PHONE_NUMBER = /^[0-9]{1,20}$/;
/** The most contacts of a notice: one notice is one send request. A longer list is imported. */
export const MAX_CONTACTS = 1_000;
/** The schedule type of a notice that names none. */
export const SCHEDULE_TYPE = 'DIRECTLY';
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
      .default(SCHEDULE_TYPE)
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

export type CheckedNotice = z.output<typeof noticeSchema>;

/** A recipient as it is stored and sent: also with fields that are not known here. */
export type Contact = z.output<typeof contactSchema>;

/** A notice as it is stored and sent; what an application hands over is a `GivenNotice` . */
export type Notice = z.input<typeof noticeSchema>;

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

export type Fields = Readonly<Record<string, unknown>>;

/** Fields that a contact and a notice both have. */
interface Passing {
  /**
   * Fields of the service that this package does not know, sent unchanged: JSON values, with whole numbers beyond
   * 9007199254740991 as text. A field that is unknown elsewhere is an error, since it may be a misspelt one.
   */
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
}

interface Recipient extends Passing {
  /**
   * Phone number in the national format: 1 to 20 digits, no separators, no plus sign, no country code.
   * `send` and `sendMany` do not convert other formats; `import` removes separators.
   */
  readonly contact: string;
  readonly name?: string | undefined;
}

type Digit = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;
type Variables = { readonly [Name in `var${Digit | 10 | `1${Digit}` | 20}`]?: string | undefined };

/**
 * One recipient of a {@link GivenNotice}, with the values of the template's variables: text of at most 4,096 characters
 * each. Variables after `var20` are for `fields`. An instance of a class has these as fields of its own, not as accessors.
 *
 * @example
 * { contact: '01012345678', var1: 'Kim', var2: 'A-1001' }
 */
export interface GivenContact extends Recipient, Variables {}

interface NoticeFields extends Passing {
  /** Code of the message template at the messaging service; 1 to 200 characters. */
  readonly templateCode: string;
  /**
   * When the service sends the message. `DIRECTLY` means at once and is the only value in the service's
   * document. To send later, use the option `sendAt` or `delay` instead.
   * @default 'DIRECTLY'
   */
  readonly scheduleType?: string | undefined;
  /**
   * Sender key of the messenger channel.
   * @default DEFAULT_CHAT_SENDER_KEY of the worker
   */
  readonly chatSenderKey?: string | undefined;
  /**
   * Sender key for SMS.
   * @default DEFAULT_SENDER_KEY of the worker
   */
  readonly senderKey?: string | undefined;
  /** Not in the service's document, but seen: the time for `scheduleType: 'SCHEDULED'`, as `2027-03-01 09:00:00`. */
  readonly at?: string | undefined;
  /** Not in the service's document, but seen: an SMS where the messenger does not deliver. */
  readonly replaceSms?: 'Y' | 'N' | undefined;
  readonly smsSubject?: string | undefined;
  readonly smsContent?: string | undefined;
}

/**
 * A message to send: a template of the messaging service and its recipients.
 *
 * @example
 * { templateCode: 'ORDER_SHIPPED', contacts: [{ contact: '01012345678', var1: 'A-1001' }] }
 */
export interface GivenNotice extends NoticeFields {
  /** The recipients: 1 to 1,000, sent in one request. `import` takes a list of any length. */
  readonly contacts: readonly GivenContact[];
}

/** A {@link GivenNotice} of one of these templates, with its variables. */
export type NoticeOf<Templates extends object> = string extends keyof Templates
  ? GivenNotice
  : {
      [Code in keyof Templates & string]: NoticeFields & {
        readonly templateCode: Code;
        readonly contacts: readonly (Recipient & Templates[Code])[];
      };
    }[keyof Templates & string];

const TEXTS = ['at', 'replaceSms', 'smsSubject', 'smsContent'];
const OF_NOTICE: ReadonlySet<string> = new Set([...Object.keys(noticeSchema.shape), ...TEXTS]);
const OF_CONTACT: ReadonlySet<string> = new Set(['contact', 'name']);

/**
 * Checks a notice that an application hands over, and copies it, so that later changes by the caller have no effect. Its
 * `fields` and those of its contacts become fields beside the others, as the service gets them.
 *
 * The copy is made from the caller's fields and not from the parsed ones, because unknown fields must
 * stay unchanged: parsing reorders fields and drops one named `__proto__`.
 *
 * @param place prefix of field names in errors, such as `notices[4]`; empty for a single notice
 * @throws InputError NOTICE_INVALID that names every invalid field, without values
 */
export function readNotice(input: unknown, place = ''): CheckedNotice {
  const issues: InputIssue[] = [];
  const path = place === '' ? [] : [place];
  let notice = input;
  if (isFields(input)) {
    const flat = copyOf(input, OF_NOTICE, path, issues);
    const { contacts } = flat;
    notice = !Array.isArray(contacts)
      ? flat
      : {
          ...flat,
          contacts: Array.from(contacts as readonly unknown[], (contact, index) =>
            isFields(contact)
              ? copyOf(contact, OF_CONTACT, [...path, 'contacts', index], issues)
              : contact,
          ),
        };
  }
  const code = 'NOTICE_INVALID';
  const { scheduleType } = parseInput(noticeSchema, notice, code, place, 'notice', issues);
  return { ...(notice as CheckedNotice), scheduleType };
}

/** A deep copy of an object's own fields that are defined, with those under `fields` beside them. */
function copyOf(
  given: Fields,
  known: ReadonlySet<string>,
  path: readonly PropertyKey[],
  issues: InputIssue[],
): Record<string, unknown> {
  const refuse = (problem: string, ...names: readonly string[]) =>
    issues.push({ field: fieldPath([...path, ...names.map(shownName)]), problem });
  const { fields: passing = {}, ...own } = given;
  if (!isFields(passing)) refuse('expected an object', 'fields');
  const beside = isFields(passing) ? passing : {};
  const copy: Record<string, unknown> = { ...own, ...beside };
  for (const [name, value] of Object.entries(copy)) {
    const isOwn = Object.hasOwn(own, name);
    if (isOwn && Object.hasOwn(beside, name)) {
      refuse('expected once, not also beside fields', 'fields', name);
    } else if (value === undefined) {
      delete copy[name];
    } else if (name === 'contacts' && known === OF_NOTICE) {
      // The caller copies them.
    } else if (isOwn && !known.has(name) && !(known === OF_CONTACT && VARIABLE_NAME.test(name))) {
      refuse(UNKNOWN_FIELD, name);
    } else if (isOwn && (TEXTS.includes(name) || name === 'name') && typeof value !== 'string') {
      refuse('expected text', name);
    } else {
      const problem = whyNotField(name, value);
      if (problem !== undefined) refuse(problem, name);
      else if (typeof value === 'object') {
        // Not by assignment, for which a field named `__proto__` is none.
        Object.defineProperty(copy, name, {
          ...OWN_FIELD,
          value: JSON.parse(JSON.stringify(value)),
        });
      }
    }
  }
  return copy;
}

const OWN_FIELD = { enumerable: true, writable: true, configurable: true };

const UNKNOWN_FIELD =
  'unknown field: correct its name, or put it into `fields`, which are sent unchanged';

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
