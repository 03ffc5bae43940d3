import type { Identity, Role } from './role.ts';

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
