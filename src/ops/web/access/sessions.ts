import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { User } from './accounts.ts';

/** What a session's cookie says. */
interface Claims {
  /** Name of the user. */
  readonly n: string;
  /** Id of the session. */
  readonly i: string;
  /** End: milliseconds since the epoch. */
  readonly e: number;
  /** Changes with the user's password or role, which so end his sessions. */
  readonly s: string;
}

/** A session that counts. */
export interface Session {
  readonly id: string;
  readonly user: User;
  readonly until: number;
}

/** So many ended sessions are remembered; each until it would have ended by itself. */
const MAX_ENDED = 10_000;

/**
 * Sessions without a store: the cookie says who, until when, and is signed. A session begins at a
 * sign-in and ends with its time, at a sign-out, or when the user's entry changes. A sign-out is
 * known to this process only: another one that shares the key lets the cookie count until its time.
 */
export class Sessions {
  readonly #key: Buffer;
  readonly #lifetimeMs: number;
  readonly #users: ReadonlyMap<string, User>;
  readonly #ended = new Map<string, number>();

  /** @param key drawn at random when left out: then no session outlives the process */
  constructor(users: ReadonlyMap<string, User>, lifetimeMs: number, key?: string) {
    this.#users = users;
    this.#lifetimeMs = lifetimeMs;
    this.#key = key === undefined ? randomBytes(32) : Buffer.from(key);
  }

  /** @returns the value of the cookie, and when it ends */
  begin(user: User, now: number): { readonly cookie: string; readonly until: number } {
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

  /** @returns undefined for a cookie that is forged, over, or of somebody who is no user any more */
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

  /** What a page of this session puts into its forms; another site cannot know it. */
  csrfToken(seed: string): string {
    return this.#sign('csrf', seed);
  }

  isCsrfToken(seed: string, shown: string): boolean {
    return same(shown, this.csrfToken(seed));
  }

  #stamp({ name, role, password }: User): string {
    const hash = password.hash.toString('base64url');
    return this.#sign('user', [name, role, hash].join('\n')).slice(0, 16);
  }

  #sign(purpose: 'session' | 'csrf' | 'user', text: string): string {
    return createHmac('sha256', this.#key).update(`${purpose}\n${text}`).digest('base64url');
  }
}

/** Compares in constant time; the length of a signature is no secret. */
function same(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
