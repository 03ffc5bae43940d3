import { own } from './read-answer.ts';

/** A longer life is taken for nonsense, such as a time in other units. */
const MAX_LIFETIME_MS = 366 * 24 * 3_600_000;
/** Numbers below are seconds since the epoch, from here on milliseconds: both mean 1973 to 5138. */
const MILLISECONDS_FROM = 1e11;
/** A time without a zone could be any of 26 hours, so it is not a time. */
const ISO_WITH_ZONE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/;

/**
 * How long an issued token lives, where the answer or the token itself shows it; the lifetime is
 * not part of the service's document. First that can be used: `expiresAt` or `expires_at` of the
 * answer, then the token's own `exp`.
 *
 * A time in the past, too far away or not a time is not trusted: the token is then used until it
 * is refused, which costs one call. A life that is too short by mistake costs issuances for ever.
 */
export function tokenLifetime(
  json: unknown,
  token: string,
  dateHeader: string | undefined,
  nowMs: number,
): number | undefined {
  const now = parseHttpDate(dateHeader) ?? nowMs;
  const data = own(json, 'data');
  for (const place of [data, json]) {
    for (const name of ['expiresAt', 'expires_at']) {
      const at = readTime(own(place, name));
      const life = at === undefined ? undefined : sane(at - now);
      if (life !== undefined) return life;
    }
  }
  return jwtLifetime(token, now);
}

/**
 * `exp - iat` needs no clock but the issuer's, so it is right however wrong ours or a gateway's is.
 * Where the service hands out an older token again it is too long, and the token is refused first:
 * harmless. Without `iat`, the answer's Date is used as the issuer's clock, and without a Date ours.
 */
function jwtLifetime(token: string, nowMs: number): number | undefined {
  const payload = decodePayload(token);
  const expires = readTime(own(payload, 'exp'));
  if (expires === undefined) return undefined;
  const issued = readTime(own(payload, 'iat'));
  return sane(expires - (issued ?? nowMs));
}

/** The claims of a JSON web token, unverified: they are a hint and decide nothing. */
function decodePayload(token: string): unknown {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  try {
    return JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

/** Milliseconds since the epoch from seconds, milliseconds, either as text, or ISO 8601 with a zone. */
function readTime(value: unknown): number | undefined {
  if (typeof value === 'string' && ISO_WITH_ZONE.test(value)) {
    const at = Date.parse(value);
    return Number.isNaN(at) ? undefined : at;
  }
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number) || number <= 0) return undefined;
  return number < MILLISECONDS_FROM ? number * 1_000 : number;
}

function sane(lifetimeMs: number): number | undefined {
  return lifetimeMs > 0 && lifetimeMs <= MAX_LIFETIME_MS ? Math.floor(lifetimeMs) : undefined;
}

/** The three forms of an HTTP date all begin with a day's name. */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .{10,40}$/;

/**
 * Reads a Retry-After header: seconds, or an HTTP date.
 *
 * @param dateHeader the answer's own Date: a date is meant on the clock of the service
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
function parseHttpDate(value: string | undefined): number | undefined {
  if (value === undefined || !HTTP_DATE.test(value)) return undefined;
  // The asctime form names no zone; HTTP dates are always UTC.
  const at = Date.parse(/GMT|UTC/.test(value) ? value : `${value} GMT`);
  return Number.isNaN(at) ? undefined : at;
}
