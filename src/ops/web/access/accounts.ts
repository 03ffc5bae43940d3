import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { InputError } from '../../../contracts/errors.ts';
import { hashPassword, isPassword, readPasswordHash, type PasswordHash } from './password.ts';
import { ROLES, type Role } from './identity.ts';

/** A person who may sign in. */
export interface User {
  readonly name: string;
  readonly role: Extract<Role, 'viewer' | 'operator'>;
  readonly password: PasswordHash;
}

/** A program that may call. */
export interface ApiKey {
  readonly name: string;
  readonly role: Role;
  /** SHA-256 of the key, which is random and long, so that a slow hash would add nothing. */
  readonly hash: Buffer;
}

/** Reads OPS_USERS. @throws InputError CONFIG_INVALID that names the entry, never its hash */
export function readUsers(text: string | undefined): ReadonlyMap<string, User> {
  const users = new Map<string, User>();
  for (const { name, role, secret } of entries(text, 'OPS_USERS')) {
    const password = readPasswordHash(secret);
    if (password === undefined || role === 'sender') {
      throw wrong('OPS_USERS', `the entry of ${name} is not one that hash-password prints`);
    }
    if (users.has(name)) throw wrong('OPS_USERS', `${name} stands in it twice`);
    users.set(name, { name, role, password });
  }
  return users;
}

/** Reads OPS_API_KEYS. @throws InputError CONFIG_INVALID that names the entry, never its hash */
export function readApiKeys(text: string | undefined): readonly ApiKey[] {
  return entries(text, 'OPS_API_KEYS').map(({ name, role, secret }) => {
    const hash = Buffer.from(secret.replace(/^sha256\./, ''), 'base64url');
    if (hash.length !== 32) {
      throw wrong('OPS_API_KEYS', `the entry of ${name} is not one that new-key prints`);
    }
    return { name, role, hash };
  });
}

/** The key that a caller shows, found in constant time for each of them. */
export function findApiKey(keys: readonly ApiKey[], shown: string): ApiKey | undefined {
  const hash = sha256(shown);
  let found: ApiKey | undefined;
  for (const key of keys) if (timingSafeEqual(hash, key.hash)) found = key;
  return found;
}

/** A new key, to be shown once, and the entry that lets it in. */
export function newApiKey(name: string, role: Role): { key: string; entry: string } {
  const key = `nq_${randomBytes(32).toString('base64url')}`;
  return { key, entry: `${name}:${role}:sha256.${sha256(key).toString('base64url')}` };
}

/** Against a hash of nobody's, so that an unknown name takes as long as a wrong password. */
let nobody: Promise<PasswordHash> | undefined;

/** @returns the user, where the name is known and the password right */
export async function checkPassword(
  users: ReadonlyMap<string, User>,
  name: string,
  password: string,
): Promise<User | undefined> {
  const user = users.get(name);
  nobody ??= hashPassword(randomBytes(32).toString('base64url')).then(hashOf);
  const right = await isPassword(password, user?.password ?? (await nobody));
  return right ? user : undefined;
}

function hashOf(text: string): PasswordHash {
  const hash = readPasswordHash(text);
  if (hash === undefined) throw new TypeError('a hash of our own cannot be read');
  return hash;
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function entries(
  text: string | undefined,
  field: string,
): { name: string; role: Role; secret: string }[] {
  return (text ?? '')
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .map((entry) => {
      const [name = '', word, secret = ''] = entry.split(':');
      const role = ROLES.find((one) => one === word);
      if (name === '' || role === undefined) throw wrong(field, 'expected name:role:hash');
      return { name, role, secret };
    });
}

function wrong(field: string, problem: string): InputError {
  return new InputError('CONFIG_INVALID', [{ field, problem }]);
}
