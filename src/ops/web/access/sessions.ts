import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { User } from './accounts.ts';

/** Content of a session cookie. */
interface Claims {
  /** Name of the user. */
  readonly n: string;
  /** Id of the session. */
  readonly i: string;
  /** End: milliseconds since the epoch. */
  readonly e: number;
  /** Derived from password and role of the user: a change of either ends the session. */
  readonly s: string;
}

/** A valid session. */
export interface Session {
  readonly id: string;
  readonly user: User;
  readonly until: number;
}

/** Ended sessions that are remembered, each until it would have expired. */
const MAX_ENDED = 10_000;

/**
 * Sessions without a store: the signed cookie holds user and expiry. A session starts at the sign-in
 * and ends when it expires, at the sign-out ({@link EndedSessions}), or when password or role of the user
 * change.
 */
export class Sessions {
  readonly #key: Buffer;
  readonly #lifetimeMs: number;
  readonly #users: ReadonlyMap<string, User>;
  readonly #ended = new Map<string, number>();

  /**
   * @param lifetimeMs OPS_SESSION_MS, in milliseconds
   * @param key OPS_SESSION_KEY; random when left out: then no session outlives the process
   */
  constructor(users: ReadonlyMap<string, User>, lifetimeMs: number, key?: string) {
    this.#users = users;
    this.#lifetimeMs = lifetimeMs;
    this.#key = key === undefined ? randomBytes(32) : Buffer.from(key);
  }

  /** @returns the value of the cookie, and when it expires in milliseconds since the epoch */
  start(user: User, now: number): { readonly cookie: string; readonly until: number } {
    const until = now + this.#lifetimeMs;
    const claims: Claims = {
      n: user.name,
      i: randomBytes(16).toString('base64url'),
      e: until,
      s: this.#stamp(user),
    };
    const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
    return { cookie: `${payload}.${this.#sign('session', payload)}`, until };
  }

  /** @returns undefined where the cookie is forged or expired, or its user no longer exists */
  read(cookie: string, now: number): Session | undefined {
    const [payload = '', signature = '', ...rest] = cookie.split('.');
    if (rest.length > 0 || !same(signature, this.#sign('session', payload))) return undefined;
    const { n, i, e, s } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims;
    const user = this.#users.get(n);
    if (user === undefined || e <= now || this.#ended.has(i)) return undefined;
    return same(s, this.#stamp(user)) ? { id: i, user, until: e } : undefined;
  }

  end({ id, until }: Pick<Session, 'id' | 'until'>, now: number): void {
    for (const [ended, at] of this.#ended) if (at <= now) this.#ended.delete(ended);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size >= MAX_ENDED && oldest !== undefined) this.#ended.delete(oldest);
    this.#ended.set(id, until);
  }

  isEnded(id: string): boolean {
    return this.#ended.has(id);
  }

  /** @returns the CSRF token of a session, for the forms of its pages; other sites cannot know it */
  csrfToken(seed: string): string {
    return this.#sign('csrf', seed);
  }

  isCsrfToken(seed: string, sent: string): boolean {
    return same(sent, this.csrfToken(seed));
  }

  #stamp({ name, role, password }: User): string {
    const hash = password.hash.toString('base64url');
    return this.#sign('user', [name, role, hash].join('\n')).slice(0, 16);
  }

  #sign(purpose: 'session' | 'csrf' | 'user', text: string): string {
    return createHmac('sha256', this.#key).update(`${purpose}\n${text}`).digest('base64url');
  }
}

/** Compares in constant time; the length of a signature is not secret. */
function same(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
