import { createHash, hkdfSync } from 'node:crypto';
import { NoticeQueueError } from '../contracts/errors.ts';
import { isTokenValue, type Token } from '../contracts/token.ts';
import { seal, tokenSeal, unseal, type Sealing } from '../payload/seal.ts';

/**
 * The token of an issued value.
 *
 * @throws NoticeQueueError TOKEN_INVALID when it cannot be used in an Authorization header
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
function tokenIdOf(value: string): string {
  return createHash('sha256').update(value).digest('hex').slice(0, 16);
}

/**
 * Encrypts a token for Redis, and decrypts it (payload/seal.ts), with a key derived (HKDF-SHA256) from the secret key.
 * Redis, its dumps and its log contain no usable token; anyone who has the secret key could issue one anyway.
 */
export class TokenSeal {
  readonly #sealing: Sealing;

  /** @param pair name of the pair, used as salt: equal secrets of two pairs give different keys */
  constructor(secretKey: string, pair: string) {
    const derive = (use: string, bytes: number) =>
      Buffer.from(hkdfSync('sha256', secretKey, pair, `notice-queue token ${use}`, bytes));
    const key = { key: derive('seal', 32), id: derive('key id', 4) };
    this.#sealing = { account: pair, keys: [key], acceptsPlain: false };
  }

  /** Encrypts a token, for its id; the same token gives a different text each time. */
  seal({ id, value }: Token): string {
    return seal(Buffer.from(value), tokenSeal(this.#sealing, id))?.toString('base64') ?? '';
  }

  /** The token that was sealed with this id; undefined with another key or id, and for a text that was changed. */
  unseal(id: string, sealed: string): Token | undefined {
    try {
      const value = unseal(Buffer.from(sealed, 'base64'), tokenSeal(this.#sealing, id)).toString();
      return tokenIdOf(value) === id ? { id, value } : undefined;
    } catch (error) {
      if (error instanceof NoticeQueueError) return undefined;
      throw error;
    }
  }
}
