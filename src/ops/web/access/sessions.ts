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
  readonly signer: Signer;
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
    this.signer = new Signer(key);
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
    return { cookie: this.signer.seal('session', claims), until };
  }

  /** @returns undefined where the cookie is forged or expired, or its user no longer exists */
  read(cookie: string, now: number): Session | undefined {
    const claims = this.signer.open('session', cookie) as Claims | undefined;
    if (claims === undefined) return undefined;
    const { n, i, e, s } = claims;
    const user = this.#users.get(n);
    if (user === undefined || e <= now || this.#ended.has(i)) return undefined;
    return isSame(s, this.#stamp(user)) ? { id: i, user, until: e } : undefined;
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
