/** A number as a person may see it: enough to tell two apart, too little to call. */
export function maskNumber(number: string): string {
  const digits = number.length;
  if (digits <= 4) return '*'.repeat(digits);
  const tail = digits >= 8 ? number.slice(-2) : '';
  return `${number.slice(0, 3)}${'*'.repeat(digits - 3 - tail.length)}${tail}`;
}

/** One contact as a person may see it: its number masked, of its other fields no value. */
export function maskContact(contact: unknown): Record<string, string> {
  if (typeof contact !== 'object' || contact === null || Array.isArray(contact)) return {};
  return Object.fromEntries(
    Object.entries(contact).map(([name, value]: [string, unknown]) => [
      name,
      name === 'contact' && typeof value === 'string' ? maskNumber(value) : describeValue(value),
    ]),
  );
}

/** Of what kind and size a value is, and nothing of what it says. */
export function describeValue(value: unknown): string {
  if (typeof value === 'string') return `text of ${value.length} characters`;
  if (Array.isArray(value)) return `list of ${value.length}`;
  return value === null ? 'nothing' : typeof value;
}
