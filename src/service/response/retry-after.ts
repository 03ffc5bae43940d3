/** The three forms of an HTTP date all begin with a day's name. */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .{10,40}$/;

/**
 * Reads a Retry-After header: seconds, or an HTTP date.
 *
 * @param dateHeader the answer's own Date: a date is meant on the clock of the service
 * @param nowMs the local clock, for answers without a Date
 * @returns milliseconds from now, 0 for a date that has passed, not clamped; undefined for garbage
 */
export function parseRetryAfter(
  value: string | undefined,
  dateHeader: string | undefined,
  nowMs: number,
): number | undefined {
  const text = value?.trim() ?? '';
  if (/^\d{1,12}(\.\d{1,6})?$/.test(text)) return Math.ceil(Number(text) * 1_000);
  const at = parseHttpDate(text);
  if (at === undefined) return undefined;
  return Math.max(0, at - (parseHttpDate(dateHeader) ?? nowMs));
}

/** Milliseconds since the epoch, or undefined for anything but an HTTP date. */
export function parseHttpDate(value: string | undefined): number | undefined {
  if (value === undefined || !HTTP_DATE.test(value)) return undefined;
  // The asctime form names no zone; HTTP dates are always UTC.
  const at = Date.parse(/GMT|UTC/.test(value) ? value : `${value} GMT`);
  return Number.isNaN(at) ? undefined : at;
}
