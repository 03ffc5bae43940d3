import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** What is signed: a signature for one purpose is none for another. */
type Purpose = 'session' | 'csrf' | 'user' | 'flow' | 'flow-state' | 'flow-nonce' | 'flow-verifier';

/** Signs with the key of the ops servers. */
export class Signer {
  readonly #key: Buffer;

  /** @param key OPS_SESSION_KEY; random when left out: then nothing signed outlives the process */
  constructor(key?: string) {
    this.#key = key === undefined ? randomBytes(32) : Buffer.from(key);
  }

  /** @returns the signature, 43 characters of base64url */
  sign(purpose: Purpose, text: string): string {
    return createHmac('sha256', this.#key).update(`${purpose}\n${text}`).digest('base64url');
  }

  /** @returns `payload.signature` */
  seal(purpose: Purpose, payload: object): string {
    const encoded = Buffer.from(JSON.stringify(payload)).toString('base64url');
    return `${encoded}.${this.sign(purpose, encoded)}`;
  }

  /** @returns the payload of {@link seal}; undefined where the text was not made by it */
  open(purpose: Purpose, text: string): unknown {
    const [encoded = '', signature = '', ...rest] = text.split('.');
    if (rest.length > 0 || !isSame(signature, this.sign(purpose, encoded))) return undefined;
    return JSON.parse(Buffer.from(encoded, 'base64url').toString());
  }
}

/** Compares in constant time; the length of a signature is not secret. */
export function isSame(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
