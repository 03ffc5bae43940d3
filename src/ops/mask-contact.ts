import { shownTitle } from '../batch/source/sent-columns.ts';

/** Masks a phone number except its first 3 and last 2 digits: enough to tell two apart. */
export function maskNumber(number: string): string {
  const digits = number.length;
  if (digits <= 4) return '*'.repeat(digits);
  const tail = digits >= 8 ? number.slice(-2) : '';
  return `${number.slice(0, 3)}${'*'.repeat(digits - 3 - tail.length)}${tail}`;
}

/**
 * Masks a contact: its number is masked, and of its other fields only kind and size are shown. Names of fields come from
 * lists and other producers, and may contain a number themselves.
 */
export function maskContact(contact: unknown): Record<string, string> {
  if (typeof contact !== 'object' || contact === null || Array.isArray(contact)) return {};
  return Object.fromEntries(
    Object.entries(contact).map(([name, value]: [string, unknown]) => [
      shownTitle(name),
      name === 'contact' && typeof value === 'string' ? maskNumber(value) : describeValue(value),
    ]),
  );
}

/** Describes the kind and size of a value without its content. */
function describeValue(value: unknown): string {
  if (typeof value === 'string') return `text of ${value.length} characters`;
  if (Array.isArray(value)) return `list of ${value.length}`;
  return value === null ? 'nothing' : typeof value;
}
