import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Token } from '../contracts/token.ts';
import { tokenIdOf } from './token-value.ts';

const VERSION = 'v1';
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Closes a token for its stay in Redis, and opens it again: AES-256-GCM under a key derived
 * (HKDF-SHA256) from the secret key. Whoever reads Redis, its dumps or its log holds no token, and
 * whoever holds the secret key could issue one anyway.
 *
 * A sealed token reads `v1.<key id>.<nonce>.<ciphertext and tag>`, the last two in base64url. The
 * token's id is authenticated with it.
 */
export class TokenSeal {
  readonly #key: Buffer;
  readonly #keyId: string;

  /**
   * @param secretKey the secret key of the pair (service-api, App credentials)
   * @param pair name of the pair, the salt: equal secrets of two pairs make different keys
   */
  constructor(secretKey: string, pair: string) {
    this.#key = derive(secretKey, pair, 'seal', 32);
    this.#keyId = derive(secretKey, pair, 'key id', 4).toString('hex');
  }

  /** Seals a token under its id; twice the same token makes two different texts. */
  seal({ id, value }: Token): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(this.#bind(id));
    const closed = Buffer.concat([cipher.update(value), cipher.final(), cipher.getAuthTag()]);
    return [VERSION, this.#keyId, nonce.toString('base64url'), closed.toString('base64url')].join(
      '.',
    );
  }

  /**
   * The token that was sealed under this id. Undefined where it cannot be had: another key, a
   * changed or cut record, another version of the format, or a record moved under a foreign id.
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
