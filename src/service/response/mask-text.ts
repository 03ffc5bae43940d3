const MAX_MESSAGE_LENGTH = 200;
const CODE = /^[A-Za-z0-9_.:-]{1,64}$/;
const TRACE_ID = /^[A-Za-z0-9_.:/-]{1,128}$/;
/** Five digits or more, also with separators: phone numbers have many spellings. */
const DIGIT_RUN = /\p{Nd}(?:[\s().-]{0,2}\p{Nd}){4,}/gu;
/** Opaque text of 40 characters or more: tokens and keys. */
const OPAQUE_RUN = /[A-Za-z0-9+/_=.~-]{40,}/g;
const CONTROLS = /[\p{Cc}\p{Cf}\u2028\u2029]+/gu;
/** A separate number could be a phone number; inside a hexadecimal id it is not. */
const LONE_NUMBER = /(?<![0-9a-f])[0-9]{7,15}(?![0-9a-f])/i;
/** Shorter secrets would mask ordinary words. */
const MIN_SECRET_LENGTH = 6;

/**
 * Makes foreign text safe to log: one line, at most 200 characters, without the given secrets, runs of
 * digits and long opaque runs.
 *
 * @returns undefined if nothing is left
 */
export function maskMessage(text: string, secrets: readonly string[]): string | undefined {
  let masked = text;
  for (const secret of secrets) {
    if (secret.length >= MIN_SECRET_LENGTH) masked = masked.replaceAll(secret, '***');
  }
  masked = masked
    .replace(CONTROLS, ' ')
    .replace(OPAQUE_RUN, '***')
    .replace(DIGIT_RUN, '***')
    .trim();
  // By code points, so that no surrogate pair is cut.
  const points = Array.from(masked.slice(0, 2 * MAX_MESSAGE_LENGTH));
  const cut = points.slice(0, MAX_MESSAGE_LENGTH).join('');
  return cut === '' ? undefined : cut;
}

/** The service's own code; undefined if it does not look like one or contains a secret. */
export function readCode(value: unknown, secrets: readonly string[]): string | undefined {
  return readName(value, CODE, secrets);
}

/** The service's trace id; undefined if it does not look like one or contains a secret. */
export function readTraceId(value: unknown, secrets: readonly string[]): string | undefined {
  return readName(value, TRACE_ID, secrets);
}

function readName(value: unknown, shape: RegExp, secrets: readonly string[]): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || !shape.test(text) || LONE_NUMBER.test(text)) return undefined;
  const holdsSecret = secrets.some(
    (secret) => secret.length >= MIN_SECRET_LENGTH && text.includes(secret),
  );
  return holdsSecret ? undefined : text;
}
