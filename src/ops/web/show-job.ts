/** A number as a person may see it: enough to tell two apart, too little to call. */
export function maskNumber(number: string): string {
  const digits = number.length;
  if (digits <= 4) return '*'.repeat(digits);
  const tail = digits >= 8 ? number.slice(-2) : '';
  return `${number.slice(0, 3)}${'*'.repeat(digits - 3 - tail.length)}${tail}`;
}

/** Fields whose values say nothing of a person. */
const PLAIN = new Set([
  'v',
  'templateCode',
  'scheduleType',
  'batch',
  'chunk',
  'expiresAt',
  'delivery',
]);
const SHOWN_CONTACTS = 3;

/**
 * What a job holds, as the board may show it: numbers masked, variables by name only, and unknown
 * fields as their type. What is not of a known shape is not shown at all.
 */
export function showJob(data: unknown): unknown {
  if (!isFields(data)) return data === null || data === undefined ? data : kindOf(data);
  const shown: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(data)) {
    if (name === 'notice' && isFields(value)) shown[name] = showJob(value);
    else if (name === 'contacts' && Array.isArray(value)) shown[name] = showContacts(value);
    else if (PLAIN.has(name) && typeof value !== 'object') shown[name] = value;
    else shown[name] = kindOf(value);
  }
  return shown;
}

function showContacts(contacts: readonly unknown[]): unknown {
  const first = contacts.slice(0, SHOWN_CONTACTS).map(showContact);
  const rest = contacts.length - first.length;
  return rest > 0 ? [...first, `and ${rest} more`] : first;
}

/** One contact without its number and its values. */
export function showContact(contact: unknown): Record<string, string> {
  if (!isFields(contact)) return {};
  return Object.fromEntries(
    Object.entries(contact).map(([name, value]) => [
      name,
      name === 'contact' && typeof value === 'string' ? maskNumber(value) : kindOf(value),
    ]),
  );
}

function kindOf(value: unknown): string {
  if (typeof value === 'string') return `text of ${value.length} characters`;
  if (Array.isArray(value)) return `list of ${value.length}`;
  return value === null ? 'nothing' : typeof value;
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
