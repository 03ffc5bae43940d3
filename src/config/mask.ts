import { formatAddress, type Address } from '../format/plain-hosts.ts';
import { writeDuration } from '../format/time.ts';
import { metadataOf, type Row } from './variable.ts';

const MAX_SHOWN_LENGTH = 60;

/**
 * A valid value as it may be shown: of a secret only its length, of a file only that it is set, of a URL no password.
 *
 * @param value of the row's type; undefined where it is not set
 */
export function showValue(row: Row, value: unknown): string {
  const { secret, isDuration, readsPath } = metadataOf(row);
  if (readsPath === true) return value === undefined ? 'not set' : 'set';
  if (Array.isArray(value) && value.length > 0) {
    const entries = value as readonly (Address | string)[];
    return entries.map((at) => (typeof at === 'string' ? at : formatAddress(at))).join(',');
  }
  if (typeof value === 'number') {
    return isDuration === true ? writeDuration(value) : String(value);
  }
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value) ? 'not set' : formatAddress(value as Address);
  }
  if (typeof value !== 'string') return 'not set';
  if (secret === 'value') return `set (${value.length} characters)`;
  return secret === 'password' ? maskPassword(value) : value;
}

/**
 * An invalid text as it may be shown. Only its length is shown where it could contain a password:
 * a text with `@`, `?` or `#` may be a URL that could not be parsed.
 */
export function showInvalid(row: Row, text: string): string {
  if (metadataOf(row).secret !== undefined || /[@?#]/.test(text)) {
    return `another text of ${text.length} characters`;
  }
  return JSON.stringify(
    text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}...` : text,
  );
}

/**
 * A path as it may be shown. A text that does not start like a path may be the secret itself,
 * given in the variable that expects its path.
 */
export function showPath(path: string): string {
  return /^(?:[./~]|[A-Za-z]:[\\/])/.test(path)
    ? path
    : `a relative path of ${path.length} characters`;
}

/** A user name without a password is masked, too: it is often a password with its colon forgotten. */
function maskPassword(address: string): string {
  const url = new URL(address);
  if (url.password !== '') url.password = '***';
  else if (url.username !== '') url.username = '***';
  return url.href.replace(/\/+$/, '');
}
