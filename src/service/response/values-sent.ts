/** Fields of a notice whose values are no personal data: an answer that repeats them is of use. */
const PLAIN = new Set(['templateCode', 'scheduleType']);

/**
 * The texts and numbers of a request body, the longest first, so that one that contains another is found
 * as a whole.
 *
 * @returns undefined for a body that is not JSON
 */
export function valuesSent(body: string | Uint8Array): readonly string[] | undefined {
  const values = new Set<string>();
  try {
    const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
    JSON.parse(text, (name: string, value: unknown) => {
      if (PLAIN.has(name)) return undefined;
      if (typeof value === 'string' && value.trim() !== '') values.add(value.trim());
      if (typeof value === 'number') values.add(String(value));
      return value;
    });
  } catch {
    return undefined;
  }
  return [...values].sort((one, other) => other.length - one.length);
}
