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
  /** Derived from password and role of the user: a change ends the session. */
  readonly s: string;
}

/** A valid session. */
export interface Session {
  readonly id: string;
  readonly user: User;
  readonly since: number;
  readonly until: number;
}

/**
 * The signed cookies of sessions, which hold user and expiry. A session ends when it expires or its user's password or role
 * changes, and earlier as Redis has it (operations/sessions.ts).
 */
export class Sessions {
  readonly #key: Buffer;
  readonly #lifetimeMs: number;
  readonly #users: ReadonlyMap<string, User>;

  /**
   * @param lifetimeMs OPS_SESSION_MS, in milliseconds
   * @param key OPS_SESSION_KEY; random when left out: then no session outlives the process
   */
  constructor(users: ReadonlyMap<string, User>, lifetimeMs: number, key?: string) {
    this.#users = users;
    this.#lifetimeMs = lifetimeMs;
    this.#key = key === undefined ? randomBytes(32) : Buffer.from(key);
  }

  /** @returns the session, and the value of its cookie */
  start(user: User, now: number): { readonly cookie: string; readonly session: Session } {
    const until = now + this.#lifetimeMs;
    const id = randomBytes(16).toString('base64url');
    const claims: Claims = {
      n: user.name,
      i: id,
      e: until,
      s: this.#stamp(user),
    };
    const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
    const cookie = `${payload}.${this.#sign('session', payload)}`;
    return { cookie, session: { id, user, since: now, until } };
  }

  /** @returns undefined where the cookie is forged or expired, or its user no longer exists */
  read(cookie: string, now: number): Session | undefined {
    const [payload = '', signature = '', ...rest] = cookie.split('.');
    if (rest.length > 0 || !isSame(signature, this.#sign('session', payload))) return undefined;
    const { n, i, e, s } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims;
    const user = this.#users.get(n);
    if (user === undefined || e <= now) return undefined;
    if (!isSame(s, this.#stamp(user))) return undefined;
    return { id: i, user, since: e - this.#lifetimeMs, until: e };
  }

  /** @returns the CSRF token of a session, for the forms of its pages; other sites cannot know it */
  csrfToken(seed: string): string {
    return this.#sign('csrf', seed);
  }

  isCsrfToken(seed: string, sent: string): boolean {
    return isSame(sent, this.csrfToken(seed));
  }

  #stamp({ name, role, password }: User): string {
    const text = [name, role, password.hash.toString('base64url')].join('\n');
    return this.#sign('user', text).slice(0, 16);
  }
  /** Signs for one purpose: 43 characters of base64url. */
  #sign(purpose: 'session' | 'csrf' | 'user', text: string): string {
    return createHmac('sha256', this.#key).update(`${purpose}\n${text}`).digest('base64url');
  }
}

/** Compares in constant time; the length of a signature is not secret. */
function isSame(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
