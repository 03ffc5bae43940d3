/** What {@link readTime} expects, for error messages. */
export const TIME_FORMAT =
  'a time such as 2026-01-31 or 2026-01-31T09:30 (UTC without a zone), or milliseconds since the epoch';

const ISO = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:\d{2})?)?$/;

/**
 * Reads a time: an ISO 8601 date or time, in UTC where it has no zone, or milliseconds since the epoch.
 *
 * @returns milliseconds since the epoch; undefined for other texts, and for days that do not exist
 */
export function readTime(text: string): number | undefined {
  if (/^\d{5,15}$/.test(text)) return Number(text);
  const [, day, clock = '00:00', zone = 'Z'] = ISO.exec(text) ?? [];
  if (day === undefined) return undefined;
  // A day such as February 30 would be read as one in March.
  const midnight = new Date(`${day}T00:00:00Z`);
  const exists = !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
  const at = Date.parse(`${day}T${clock}${zone}`);
  return exists && !Number.isNaN(at) && at >= 0 ? at : undefined;
}
