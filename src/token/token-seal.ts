import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { NoticeQueueError } from '../contracts/errors.ts';
import { isTokenValue, type Token } from '../contracts/token.ts';

const VERSION = 'v1';
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

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
 * Encrypts a token for Redis, and decrypts it: AES-256-GCM with a key derived (HKDF-SHA256) from the
 * secret key. Redis, its dumps and its log contain no usable token; anyone who has the secret key could
 * issue one anyway.
 *
 * Format: `v1.<key id>.<nonce>.<ciphertext and tag>`, the last two in base64url. The token's id is
 * authenticated data.
 */
export class TokenSeal {
  readonly #key: Buffer;
  readonly #keyId: string;

  /**
   * @param secretKey the secret key of the pair (service-api, App credentials)
   * @param pair name of the pair, used as salt: equal secrets of two pairs give different keys
   */
  constructor(secretKey: string, pair: string) {
    this.#key = derive(secretKey, pair, 'seal', 32);
    this.#keyId = derive(secretKey, pair, 'key id', 4).toString('hex');
  }

  /** Encrypts a token; the same token gives a different text each time. */
  seal({ id, value }: Token): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(this.#bind(id));
    const sealed = Buffer.concat([cipher.update(value), cipher.final(), cipher.getAuthTag()]);
    return [VERSION, this.#keyId, nonce.toString('base64url'), sealed.toString('base64url')].join(
      '.',
    );
  }

  /**
   * The token that was sealed with this id; undefined with another key, a changed or truncated text,
   * another version of the format, or another id.
   */
  unseal(id: string, sealed: string): Token | undefined {
    const [version, keyId, nonceText, closedText, ...more] = sealed.split('.');
    if (version !== VERSION || keyId !== this.#keyId || more.length > 0) return undefined;
    const nonce = Buffer.from(nonceText ?? '', 'base64url');
    const closed = Buffer.from(closedText ?? '', 'base64url');
    if (nonce.length !== NONCE_BYTES || closed.length <= TAG_BYTES) return undefined;
    try {
      const decipher = createDecipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(this.#bind(id));
      decipher.setAuthTag(closed.subarray(-TAG_BYTES));
      const opened = [decipher.update(closed.subarray(0, -TAG_BYTES)), decipher.final()];
      const value = Buffer.concat(opened).toString();
      return tokenIdOf(value) === id ? { id, value } : undefined;
    } catch {
      return undefined;
    }
  }

  #bind(id: string): Buffer {
    return Buffer.from(`${VERSION}.${this.#keyId}.${id}`);
  }
}

function derive(secretKey: string, pair: string, use: string, bytes: number): Buffer {
  return Buffer.from(
    hkdfSync('sha256', secretKey, pair, `notice-queue token ${use} ${VERSION}`, bytes),
  );
}
