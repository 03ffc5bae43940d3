import type { ClaimedSession } from '../../operations/sessions.ts';

/**
 * Roles of callers.
 *
 * - viewer: sees everything except phone numbers.
 * - operator: a viewer who may also change things and download contacts.
 * - sender: a program that may enqueue single notices and lists, look them up by id or key, and cancel single ones,
 *   and nothing else.
 */
export const ROLES = ['viewer', 'operator', 'sender'] as const;

export type Role = (typeof ROLES)[number];

/**
 * The role that a route needs; `sender-or-operator`: one of the two; `any`: one of all; `open`: no role;
 * `closed`: no caller is allowed.
 */
export type Needs = Role | 'sender-or-operator' | 'any' | 'open' | 'closed';

export interface Identity {
  /** Name in the audit stream. */
  readonly name: string;
  readonly role: Role;
  /**
   * How the caller is identified. A browser sends its session cookie, or passes its proxy, whatever
   * page causes the request, so such requests need a CSRF token; an API key is only sent by a program.
   */
  readonly by: 'session' | 'proxy' | 'key';
  /** What the CSRF token is derived from: the id of the session, or the name and role. */
  readonly seed: string;
  /** Of a person with a cookie: it may be over, as Redis has it. */
  readonly session?: ClaimedSession;
}

/** The roles that are sufficient for each need. */
const SATISFIES: Readonly<Record<Exclude<Needs, 'open'>, readonly Role[]>> = {
  viewer: ['viewer', 'operator'],
  operator: ['operator'],
  sender: ['sender'],
  'sender-or-operator': ['sender', 'operator'],
  any: ROLES,
  closed: [],
};

export function allows(role: Role, needs: Needs): boolean {
  return needs === 'open' || SATISFIES[needs].includes(role);
}

const NAME = /^[\p{L}\p{N}._@+ -]{1,64}$/u;

/** Reads the identity that the trusted proxy states; without roles it is a viewer, with other ones none. */
export function proxyIdentity(
  user: string | undefined,
  roles: string | undefined,
): Identity | undefined {
  const name = user?.trim() ?? '';
  if (!NAME.test(name)) return undefined;
  const given = (roles ?? 'viewer').split(',');
  const names = new Set(given.map((role) => role.trim().toLowerCase()));
  const role = (['operator', 'viewer'] as const).find((one) => names.has(one));
  return role === undefined
    ? undefined
    : { name, role, by: 'proxy', seed: `proxy\n${name}\n${role}` };
}
