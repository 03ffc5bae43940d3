import { createHash } from 'node:crypto';
import { isTokenValue, type Token } from '../contracts/token.ts';
import { NoticeQueueError } from '../contracts/errors.ts';

/**
 * Names a token value as it was issued.
 *
 * @throws NoticeQueueError TOKEN_INVALID when it could not stand in an Authorization header
 */
export function tokenOf(value: string): Token {
  if (!isTokenValue(value)) {
    throw new NoticeQueueError(
      'TOKEN_INVALID',
      'The issued token is empty, too long or not printable ASCII.',
    );
  }
  return { id: tokenIdOf(value), value };
}

/** First 16 hex digits of the SHA-256 of the value. */
export function tokenIdOf(value: string): string {
  return createHash('sha256').update(value).digest('hex').slice(0, 16);
}
