import { isName, MAX_VALUE_LENGTH, PHONE_NUMBER, VARIABLE_NAME } from './notice.ts';

type Fields = Readonly<Record<string, unknown>>;

const NAMES = ['scheduleType', 'chatSenderKey', 'senderKey'] as const;

/**
 * Why the notice of a job is not one; undefined if it is. The rules of `noticeSchema`, written by hand: workers
 * check every job, and parsing would copy each contact. A fuzz test compares the two.
 */
export function whyNotNotice(notice: Fields): string | undefined {
  if (!isName(notice['templateCode'])) return 'The notice of the job has no template code.';
  for (const name of NAMES) {
    const value = notice[name];
    if (value !== undefined && !isName(value)) return `The ${name} of the job is not a name.`;
  }
  const { contacts } = notice;
  if (!Array.isArray(contacts)) return 'The job has no notice with contacts.';
  if (contacts.length === 0) return 'The notice of the job has no contacts.';
  const index = contacts.findIndex((contact) => !isContact(contact));
  return index < 0 ? undefined : `Contact ${index} of the job is not valid.`;
}

function isContact(contact: unknown): boolean {
  if (typeof contact !== 'object' || contact === null || Array.isArray(contact)) return false;
  const fields = contact as Fields;
  const number = Object.hasOwn(fields, 'contact') ? fields['contact'] : undefined;
  if (typeof number !== 'string' || !PHONE_NUMBER.test(number)) return false;
  return Object.keys(fields).every((name) => !VARIABLE_NAME.test(name) || isValue(fields[name]));
}

const isValue = (value: unknown) => typeof value === 'string' && value.length <= MAX_VALUE_LENGTH;
