import type { RefusalCode } from './refusals.ts';

export interface ContactObject {
  readonly contact: string;
  readonly [field: string]: unknown;
}

export interface SendBody {
  readonly templateCode: string;
  readonly contacts: readonly ContactObject[];
  /** Every field of the body except the contacts. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Additional reasons for rejection; see the options of the same names. */
export interface SendRules {
  readonly maxContactsPerRequest: number;
  readonly unknownTemplates: ReadonlySet<string>;
  readonly rejectContacts: ReadonlySet<string>;
}

const JSON_TYPE = /^application\/json\s*(;|$)/i;
const DIGITS = /^[0-9]{1,20}$/;
const VARIABLE = /^var[0-9]+$/;

const SENDER_KEYS = ['senderKey', 'chatSenderKey'] as const;

/**
 * Parses the body of a send request, or returns why it is rejected. A request is accepted as a whole or
 * not at all. The documentation does not say which fields are required: here template code, schedule type
 * and contacts are, sender keys are not (the field name of one of them is not documented), and unknown
 * fields are allowed.
 */
export function readSendBody(
  contentType: string | undefined,
  text: string,
  rules: SendRules,
): SendBody | { readonly refusal: RefusalCode; readonly detail?: string } {
  if (!JSON_TYPE.test(contentType ?? '')) return { refusal: 'INVALID_CONTENT_TYPE' };
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return { refusal: 'INVALID_JSON' };
  }
  if (!isObject(body)) return { refusal: 'INVALID_BODY' };
  const { contacts, ...fields } = body;
  const { templateCode } = fields;
  if (!isText(templateCode)) return { refusal: 'INVALID_FIELD', detail: 'templateCode' };
  if (!isText(fields['scheduleType'])) return { refusal: 'INVALID_FIELD', detail: 'scheduleType' };
  for (const name of SENDER_KEYS) {
    if (fields[name] === undefined || isText(fields[name])) continue;
    return { refusal: 'INVALID_FIELD', detail: name };
  }
  if (!Array.isArray(contacts)) return { refusal: 'INVALID_CONTACTS' };
  if (contacts.length === 0) return { refusal: 'EMPTY_CONTACTS' };
  if (contacts.length > rules.maxContactsPerRequest) return { refusal: 'TOO_MANY_CONTACTS' };
  if (rules.unknownTemplates.has(templateCode)) return { refusal: 'TEMPLATE_NOT_FOUND' };
  for (const [index, contact] of contacts.entries()) {
    const isValid = isContact(contact, rules);
    if (isValid && hasTextVariables(contact)) continue;
    return {
      refusal: isValid ? 'INVALID_VARIABLE' : 'INVALID_CONTACT',
      detail: `contacts[${index}]`,
    };
  }
  return { templateCode, contacts: contacts as readonly ContactObject[], fields };
}

function isContact(contact: unknown, rules: SendRules): contact is ContactObject {
  if (!isObject(contact)) return false;
  const number = contact['contact'];
  return typeof number === 'string' && DIGITS.test(number) && !rules.rejectContacts.has(number);
}

function hasTextVariables(contact: ContactObject): boolean {
  for (const field in contact) {
    if (VARIABLE.test(field) && typeof contact[field] !== 'string') return false;
  }
  return true;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
