/** Masks a phone number except its first 3 and last 2 digits: enough to tell two apart. */
export function maskNumber(number: string): string {
  const digits = number.length;
  if (digits <= 4) return '*'.repeat(digits);
  const tail = digits >= 8 ? number.slice(-2) : '';
  return `${number.slice(0, 3)}${'*'.repeat(digits - 3 - tail.length)}${tail}`;
}
