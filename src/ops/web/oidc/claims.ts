import type { OidcConfig } from '../../../config/config.ts';
import type { SessionUser } from '../access/sessions.ts';

/** Claims of a verified ID token. */
export type IdClaims = Readonly<Record<string, unknown>>;

/** What a person is here, or why the person is refused. */
export type ProviderPerson =
  | { readonly user: SessionUser }
  | { readonly refusal: 'no-role' | 'no-name'; readonly name?: string };

/** Names in the audit stream start with it; those of users and of programs cannot. */
const PREFIX = 'oidc:';

/** Printable characters only, and no more than a page shows. Vowel signs of many scripts are marks. */
const NAME = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]{1,128}$/u;

/**
 * Decides who a person is.
 *
 * | name claim | role claim | person |
 * |---|---|---|
 * | missing or malformed | any | refused: no-name |
 * | a name | with a value for operator | operator |
 * | a name | with a value for viewer | viewer |
 * | a name | none of OIDC_ROLES, missing, or neither text nor list | refused: no-role |
 */
export function personOf(
  claims: IdClaims,
  { roles, roleClaim, nameClaim }: Pick<OidcConfig, 'roles' | 'roleClaim' | 'nameClaim'>,
): ProviderPerson {
  const name = nameOf(claims, nameClaim);
  if (name === undefined) return { refusal: 'no-name' };
  const role = highestRole(claimAt(claims, roleClaim), readRoles(roles));
  return role === undefined ? { refusal: 'no-role', name } : { user: { name, role } };
}

/** Reads OIDC_ROLES. A value may contain colons; the role comes after the last one. */
function readRoles(text: string): ReadonlyMap<string, readonly string[]> {
  const roles = new Map<string, string[]>();
  for (const entry of text.split(',').map((part) => part.trim())) {
    const colon = entry.lastIndexOf(':');
    const value = entry.slice(0, colon);
    roles.set(value, [...(roles.get(value) ?? []), entry.slice(colon + 1)]);
  }
  return roles;
}

/** The highest role of a text or a list of texts. */
function highestRole(
  claim: unknown,
  roles: ReadonlyMap<string, readonly string[]>,
): SessionUser['role'] | undefined {
  const values: readonly unknown[] = Array.isArray(claim) ? claim : [claim];
  const found = new Set(
    values.flatMap((value) => (typeof value === 'string' ? (roles.get(value) ?? []) : [])),
  );
  if (found.has('operator')) return 'operator';
  return found.has('viewer') ? 'viewer' : undefined;
}

/**
 * The value at a path of names. Names of claims may themselves contain dots, as URLs do: a longer name is
 * preferred.
 */
export function claimAt(value: unknown, path: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  const names = path.split('.');
  for (let length = names.length; length > 0; length -= 1) {
    const name = names.slice(0, length).join('.');
    if (!Object.hasOwn(value, name)) continue;
    const inner = (value as IdClaims)[name];
    const found = length === names.length ? inner : claimAt(inner, names.slice(length).join('.'));
    if (found !== undefined) return found;
  }
  return undefined;
}

function nameOf(claims: IdClaims, nameClaim: string | undefined): string | undefined {
  const standard = claims['email_verified'] === true ? claims['email'] : undefined;
  const given = nameClaim === undefined ? (standard ?? claims['sub']) : claimAt(claims, nameClaim);
  // One spelling, so that a person has one name in the audit stream.
  const name = typeof given === 'string' ? given.normalize('NFC') : '';
  return NAME.test(name) ? `${PREFIX}${name}` : undefined;
}
