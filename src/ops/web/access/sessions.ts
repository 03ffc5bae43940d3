import { randomBytes } from 'node:crypto';
import type { User } from './accounts.ts';
import { isSame, Signer } from './signer.ts';

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
  readonly signer: Signer;
  readonly #lifetimeMs: number;
  readonly #users: ReadonlyMap<string, User>;

  /**
   * @param lifetimeMs OPS_SESSION_MS, in milliseconds
   * @param key OPS_SESSION_KEY; random when left out: then no session outlives the process
   */
  constructor(users: ReadonlyMap<string, User>, lifetimeMs: number, key?: string) {
    this.#users = users;
    this.#lifetimeMs = lifetimeMs;
    this.signer = new Signer(key);
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
    const cookie = this.signer.seal('session', claims);
    return { cookie, session: { id, user, since: now, until } };
  }

  /** @returns undefined where the cookie is forged or expired, or its user no longer exists */
  read(cookie: string, now: number): Session | undefined {
    const claims = this.signer.open('session', cookie) as Claims | undefined;
    if (claims === undefined) return undefined;
    const { n, i, e, s } = claims;
    const user = this.#users.get(n);
    if (user === undefined || e <= now) return undefined;
    if (!isSame(s, this.#stamp(user))) return undefined;
    return { id: i, user, since: e - this.#lifetimeMs, until: e };
  }

  /** @returns the CSRF token of a session, for the forms of its pages; other sites cannot know it */
  csrfToken(seed: string): string {
    return this.signer.sign('csrf', seed);
  }

  isCsrfToken(seed: string, sent: string): boolean {
    return isSame(sent, this.csrfToken(seed));
  }

  #stamp({ name, role, password }: User): string {
    const text = [name, role, password.hash.toString('base64url')].join('\n');
    return this.signer.sign('user', text).slice(0, 16);
  }
}
