import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ClaimedSession } from '../../operations/sessions.ts';
import type { User } from './accounts.ts';
import type { Identity } from './identity.ts';

/** Content of a session cookie; its stamp is of password and role of the user: a change ends the session. */
type Claims = ClaimedSession & { readonly stamp: string };

/**
 * The signed cookies of sessions, which hold user and expiry. A session ends when it expires or its user's password or role
 * changes, and earlier as Redis has it (operations/sessions.ts).
 */
export class Sessions {
  readonly #key: Buffer;
  readonly #lifetimeMs: number;
  readonly #users: ReadonlyMap<string, User>;

  /**
   * @param lifetimeMs of a session
   * @param key OPS_SESSION_KEY; random when left out: then no session outlives the process
   */
  constructor(users: ReadonlyMap<string, User>, lifetimeMs: number, key?: string) {
    this.#users = users;
    this.#lifetimeMs = lifetimeMs;
    this.#key = key === undefined ? randomBytes(32) : Buffer.from(key);
  }

  /** @returns the session, and the value of its cookie */
  start(user: User, now: number): { readonly cookie: string; readonly session: ClaimedSession } {
    const id = randomBytes(16).toString('base64url');
    const session = { user: user.name, id, since: now, until: now + this.#lifetimeMs };
    const claims: Claims = { ...session, stamp: this.#stamp(user) };
    const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
    return { cookie: `${payload}.${this.#sign('session', payload)}`, session };
  }

  /** @returns undefined where the cookie is forged or expired, or its user no longer exists */
  read(cookie: string, now: number): Identity | undefined {
    const [payload = '', signature = '', ...rest] = cookie.split('.');
    if (rest.length > 0 || !isSame(signature, this.#sign('session', payload))) return undefined;
    const text = Buffer.from(payload, 'base64url').toString();
    const { stamp, ...session } = JSON.parse(text) as Claims;
    const user = this.#users.get(session.user);
    if (user === undefined || session.until <= now) return undefined;
    if (!isSame(stamp, this.#stamp(user))) return undefined;
    return { name: user.name, role: user.role, by: 'session', seed: session.id, session };
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

/** With the prefix `__Host-`, no other host or path of the domain can set the cookie; it requires https. */
export const SECURE_COOKIE = '__Host-notices';

/** The name of the session cookie. */
export const cookieName = ({ isSecure }: FastifyRequest) => (isSecure ? SECURE_COOKIE : 'notices');

/** Sets the session cookie, which scripts and requests of other sites do not get; clears it where there is no value. */
export function setSessionCookie(reply: FastifyReply, value = '', until = 0): void {
  void reply.setCookie(cookieName(reply.request), value, {
    path: '/',
    httpOnly: true,
    sameSite: 'strict',
    secure: reply.request.isSecure,
    expires: new Date(until),
  });
}
