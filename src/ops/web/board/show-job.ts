import { shownTitle } from '../../../batch/source/sent-columns.ts';
import { describeValue, maskContact } from '../../mask-contact.ts';

const isText = (value: unknown) => typeof value === 'string';

/** Whether a value is a count or a time in milliseconds, which have fewer or more digits than a phone number. */
const isCountOrTime = (value: unknown) =>
  typeof value === 'number' && (value < 1_000_000 || value >= 1_000_000_000_000);

/** Fields whose values contain no personal data, where a value is what this package writes there. */
const PLAIN: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ['v', isCountOrTime],
  ['templateCode', isText],
  ['scheduleType', isText],
  ['batch', isText],
  ['chunk', isCountOrTime],
  ['expiresAt', isCountOrTime],
  ['delivery', isText],
  // In the data of an encrypted job: how many they are.
  ['contacts', isCountOrTime],
  ['accepted', isCountOrTime],
]);
const SHOWN_CONTACTS = 3;

/**
 * The data of a job as the board shows it: phone numbers masked, variables by name only, unknown
 * fields as their type. Data of an unknown shape is not shown.
 */
export function showJob(data: unknown): unknown {
  if (!isFields(data)) return data === null || data === undefined ? data : describeValue(data);
  const shown: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(data)) {
    if (name === 'notice' && isFields(value)) shown[name] = showJob(value);
    else if (name === 'contacts' && Array.isArray(value)) shown[name] = showContacts(value);
    else if (PLAIN.get(name)?.(value) === true) shown[name] = value;
    else shown[shownTitle(name)] = describeValue(value);
  }
  return shown;
}

function showContacts(contacts: readonly unknown[]): unknown {
  const first = contacts.slice(0, SHOWN_CONTACTS).map(maskContact);
  const rest = contacts.length - first.length;
  return rest > 0 ? [...first, `and ${rest} more`] : first;
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
