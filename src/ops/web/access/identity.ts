/**
 * What a caller may do.
 *
 * - viewer: sees everything but numbers.
 * - operator: a viewer who also acts, and downloads contacts.
 * - sender: a program that hands over notices, and nothing else.
 */
export const ROLES = ['viewer', 'operator', 'sender'] as const;

/** Name of a role. */
export type Role = (typeof ROLES)[number];

/** What a route asks of its caller; `nobody` closes it to all, `open` to none. */
export type Needs = Role | 'open' | 'nobody';

/** Who calls. */
export interface Identity {
  /** As it stands in the audit stream. */
  readonly name: string;
  readonly role: Role;
  /**
   * How we know. A browser sends a session's cookie, or is let in by its proxy, whatever page makes
   * it call; a key is sent by nobody but a program that has it.
   */
  readonly by: 'session' | 'proxy' | 'key';
  /** Milliseconds since the epoch, after which this identity counts no more. */
  readonly until: number;
  /** What the token against cross-site requests is made of: the session's id, or the name. */
  readonly seed: string;
}

/** Roles that satisfy a need. */
const SATISFIES: Readonly<Record<Exclude<Needs, 'open'>, readonly Role[]>> = {
  viewer: ['viewer', 'operator'],
  operator: ['operator'],
  sender: ['sender'],
  nobody: [],
};

/** Whether a role is enough for a route. */
export function allows(role: Role, needs: Needs): boolean {
  return needs === 'open' || SATISFIES[needs].includes(role);
}

const NAME = /^[\p{L}\p{N}._@+ -]{1,64}$/u;

/** What the trusted proxy says of a caller. */
export interface ProxyWords {
  readonly user: string | undefined;
  /** Roles or groups, separated by commas; undefined where the header is missing. */
  readonly roles: string | undefined;
}

/**
 * | user | roles | identity |
 * |---|---|---|
 * | missing or malformed | any | none |
 * | a name | missing | viewer |
 * | a name | with operator | operator |
 * | a name | with viewer | viewer |
 * | a name | neither | none |
 */
export function proxyIdentity({ user, roles }: ProxyWords, until: number): Identity | undefined {
  const name = user?.trim() ?? '';
  if (!NAME.test(name)) return undefined;
  const role = roles === undefined ? 'viewer' : roleAmong(roles);
  return role === undefined
    ? undefined
    : { name, role, by: 'proxy', until, seed: `proxy\n${name}\n${role}` };
}

function roleAmong(roles: string): Role | undefined {
  const words = new Set(roles.split(',').map((word) => word.trim().toLowerCase()));
  if (words.has('operator')) return 'operator';
  return words.has('viewer') ? 'viewer' : undefined;
}
