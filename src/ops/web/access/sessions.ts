import { randomBytes } from 'node:crypto';
import type { User } from './accounts.ts';
import { isSame, Signer } from './signer.ts';

/** Whose session it is: a user of OPS_USERS, or a person whom the provider of OpenID Connect signed in. */
export type SessionUser = Pick<User, 'name' | 'role'> & Partial<Pick<User, 'password'>>;

/** Content of a session cookie. */
interface Claims {
  /** Name of the user. */
  readonly n: string;
  /** Role of a person of the provider; absent for users of OPS_USERS, who are looked up. */
  readonly r?: User['role'];
  /** Id of the session. */
  readonly i: string;
  /** End: milliseconds since the epoch. */
  readonly e: number;
  /** Derived from password and role of the user, or the provider's settings: a change ends the session. */
  readonly s: string;
}

/** A valid session. */
export interface Session {
  readonly id: string;
  readonly user: SessionUser;
  readonly until: number;
}

/** Ended sessions that are remembered, each until it would have expired. */
const MAX_ENDED = 10_000;

/**
 * Sessions without a store: the signed cookie holds user and expiry. A session starts at the sign-in
 * and ends when it expires, at the sign-out ({@link EndedSessions}), or when password or role of the user
 * change. For people of the provider those are the settings of the provider that decide on name and role.
 */
export class Sessions {
  readonly signer: Signer;
  readonly #lifetimeMs: number;
  readonly #users: ReadonlyMap<string, User>;
  readonly #provider: string | undefined;
  readonly #ended = new Map<string, number>();

  /**
   * @param lifetimeMs OPS_SESSION_MS, in milliseconds
   * @param key OPS_SESSION_KEY; random when left out: then no session outlives the process
   * @param provider settings of the provider of OpenID Connect, where there is one
   */
  constructor(
    users: ReadonlyMap<string, User>,
    lifetimeMs: number,
    key?: string,
    provider?: string,
  ) {
    this.#users = users;
    this.#lifetimeMs = lifetimeMs;
    this.#provider = provider;
    this.signer = new Signer(key);
  }

  /** @returns the value of the cookie, and when it expires in milliseconds since the epoch */
  start(user: SessionUser, now: number): { readonly cookie: string; readonly until: number } {
    const until = now + this.#lifetimeMs;
    const claims: Claims = {
      n: user.name,
      ...(user.password === undefined ? { r: user.role } : {}),
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
    const { n, r, i, e, s } = claims;
    const user = r === undefined ? this.#users.get(n) : { name: n, role: r };
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

  #stamp({ name, role, password }: SessionUser): string {
    const origin = password?.hash.toString('base64url') ?? this.#provider ?? '';
    return this.signer.sign('user', [name, role, origin].join('\n')).slice(0, 16);
  }
}
