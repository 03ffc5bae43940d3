import { formatAddress } from './address.ts';
import type { AnyValue, Option } from './option.ts';

const MAX_SHOWN_LENGTH = 60;

/**
 * A value that is right, as it may be shown: secrets as their length, passwords inside addresses
 * as stars.
 *
 * @param value of the option's type; undefined where it is not set
 */
export function showValue(option: Option, value: AnyValue): string {
  switch (option.kind) {
    case 'secret':
      return typeof value === 'string' ? `set (${value.length} characters)` : 'not set';
    case 'url':
      return typeof value === 'string' ? maskUserinfo(value) : 'not set';
    case 'list':
      return typeof value === 'object' && value.length > 0
        ? value.map(formatAddress).join(',')
        : 'not set';
    default:
      return typeof value === 'string' || typeof value === 'number' ? String(value) : 'not set';
  }
}

/**
 * A text that is not right for its option, as it may be shown. Where a password could hide in it,
 * only its length is: a text with `@`, `?` or `#` may be an address that nobody could parse.
 */
export function showWrongText(option: Option, text: string): string {
  if (
    option.kind === 'secret' ||
    (option.kind === 'url' && option.userinfo) ||
    /[@?#]/.test(text)
  ) {
    return `another text of ${text.length} characters`;
  }
  if (option.kind === 'file') return 'a file without any';
  return JSON.stringify(
    text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}...` : text,
  );
}

/**
 * A path as it may be shown. What does not begin like a path may be the secret itself, written
 * into the variable that wanted the path.
 */
export function showPath(path: string): string {
  return /^(?:[./~]|[A-Za-z]:[\\/])/.test(path)
    ? path
    : `a relative path of ${path.length} characters`;
}

/** A user name that stands alone is masked too: it is often a password with its colon forgotten. */
function maskUserinfo(address: string): string {
  const url = new URL(address);
  if (url.password !== '') url.password = '***';
  else if (url.username !== '') url.username = '***';
  return url.href.replace(/\/+$/, '');
}
