import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto';
import type { App } from './apps.ts';

/**
 * States of a token.
 *
 * A token is *live* (valid) from its issuance. It leaves this state once, for one of these:
 * - *expired*: its lifetime is over;
 * - *replaced*: its app issues one token at a time, and the next one was issued;
 * - *revoked*: the tokens of the app were revoked, or the app got a new secret.
 *
 * A value that was never issued, or that was deleted since, is *unknown*.
 */
export type TokenState = 'live' | TokenEnd;

/** Why a bearer value is invalid. */
export type TokenEnd = 'expired' | 'replaced' | 'revoked' | 'unknown';

const BEARER = /^bearer +(\S+)$/i;

/**
 * Parses the token from `Bearer <value>`: on v2 the value is the token (service-api, Authentication rule 2), on
 * v1 the base64 of it (rule 1). Undefined for any other header. A raw token on v1 or an
 * encoded one on v2 results in undefined or in an unknown value: 401 in both cases.
 */
export function tokenIn(header: string | undefined, version: 'v1' | 'v2'): string | undefined {
  const value = BEARER.exec(header ?? '')?.[1];
  if (value === undefined || version === 'v2') return value;
  const token = Buffer.from(value, 'base64').toString('latin1');
  // Node.js ignores invalid base64, so only a value that encodes back to itself is valid.
  return Buffer.from(token, 'latin1').toString('base64') === value ? token : undefined;
}

export interface EmulatedToken {
  readonly value: string;
  /** First 16 hex digits of the SHA-256 of the value: identifies it without its value. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

interface TokenEntry {
  readonly accessKey: string;
  readonly expiresAt: number;
  end?: 'replaced' | 'revoked';
}

/** Above this number, the oldest invalid tokens are deleted. */
const KEPT_TOKENS = 10_000;

export class TokenBook {
  readonly #entries = new Map<string, TokenEntry>();
  readonly #signingKey = randomBytes(32);
  readonly #expiryInside: boolean;
  readonly #now: () => number;

  constructor(expiryInside: boolean, now: () => number) {
    this.#expiryInside = expiryInside;
    this.#now = now;
  }

  /** Issues a token; in single mode it replaces the previous one. */
  issue(app: App): EmulatedToken {
    const issuedAt = this.#now();
    const expiresAt = issuedAt + app.tokenLifetimeMs;
    const value = this.#sign(app.id, issuedAt, expiresAt);
    if (app.tokenMode === 'single') this.#endAll(app.accessKey, 'replaced');
    this.#entries.set(value, { accessKey: app.accessKey, expiresAt });
    this.#forgetOldest();
    return { value, id: tokenId(value), expiresAt };
  }

  judge(value: string): { readonly state: TokenState; readonly accessKey?: string } {
    const entry = this.#entries.get(value);
    if (entry === undefined) return { state: 'unknown' };
    return { state: this.#stateOf(entry), accessKey: entry.accessKey };
  }

  revoke(accessKey?: string): number {
    return this.#endAll(accessKey, 'revoked');
  }

  #stateOf(entry: TokenEntry): TokenState {
    if (entry.end !== undefined) return entry.end;
    return this.#now() < entry.expiresAt ? 'live' : 'expired';
  }

  #endAll(accessKey: string | undefined, end: 'replaced' | 'revoked'): number {
    let ended = 0;
    for (const entry of this.#entries.values()) {
      if (accessKey !== undefined && entry.accessKey !== accessKey) continue;
      if (this.#stateOf(entry) !== 'live') continue;
      entry.end = end;
      ended += 1;
    }
    return ended;
  }

  #forgetOldest(): void {
    for (const [value, entry] of this.#entries) {
      if (this.#entries.size <= KEPT_TOKENS || this.#stateOf(entry) === 'live') return;
      this.#entries.delete(value);
    }
  }

  /** A signed JSON web token; the key exists as long as the process. */
  #sign(subject: string, issuedAt: number, expiresAt: number): string {
    const payload = {
      sub: subject,
      jti: randomUUID(),
      iat: seconds(issuedAt),
      ...(this.#expiryInside ? { exp: seconds(expiresAt) } : {}),
    };
    const content = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(payload)}`;
    const signature = createHmac('sha256', this.#signingKey).update(content).digest('base64url');
    return `${content}.${signature}`;
  }
}

const seconds = (time: number): number => Math.floor(time / 1_000);

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');

/** First 16 hex digits of the SHA-256 of a token. */
export function tokenId(value: string): string {
  return createHash('sha256').update(value).digest('hex').slice(0, 16);
}
