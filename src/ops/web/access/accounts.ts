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

/** A program that may call the API. */
export interface ApiKey {
  readonly name: string;
  readonly role: Role;
  /** SHA-256 of the key. Keys are long and random, so a slow hash would add nothing. */
  readonly hash: Buffer;
  /** When it expires: milliseconds since the epoch; Infinity for never. */
  readonly until: number;
}

/** Reads OPS_USERS. @throws InputError CONFIG_INVALID that names the entry, never its hash */
export function readUsers(text: string | undefined): ReadonlyMap<string, User> {
  const users = new Map<string, User>();
  for (const { name, role, secret } of entries(text, 'OPS_USERS')) {
    const password = readPasswordHash(secret);
    if (password === undefined || role === 'sender') {
      throw invalid('OPS_USERS', `the entry of ${name} is not one that hash-password prints`);
    }
    if (users.has(name)) throw invalid('OPS_USERS', `${name} is listed twice`);
    users.set(name, { name, role, password });
  }
  return users;
}

/** Reads OPS_API_KEYS. @throws InputError CONFIG_INVALID that names the entry, never its hash */
export function readApiKeys(text: string | undefined): readonly ApiKey[] {
  return entries(text, 'OPS_API_KEYS').map(({ name, role, secret, lastDay }) => {
    const until = lastDay === undefined ? Infinity : endOfDay(lastDay);
    if (until === undefined) {
      throw invalid('OPS_API_KEYS', `the entry of ${name} does not end with a date`);
    }
    const hash = Buffer.from(secret.replace(/^sha256\./, ''), 'base64url');
    if (hash.length !== 32) {
      throw invalid('OPS_API_KEYS', `the entry of ${name} is not one that new-key prints`);
    }
    return { name, role, hash, until };
  });
}

/** Finds the API key that a caller sent, unless it has expired; compares each key in constant time. */
export function findApiKey(keys: readonly ApiKey[], sent: string, now: number): ApiKey | undefined {
  const hash = sha256(sent);
  let found: ApiKey | undefined;
  for (const key of keys) if (timingSafeEqual(hash, key.hash)) found = key;
  return found !== undefined && found.until > now ? found : undefined;
}

/**
 * @param lastDay on which it can be used, such as `2027-01-31`. Default: it does not expire
 * @returns a new key, to be shown once, and its entry for OPS_API_KEYS
 */
export function newApiKey(
  name: string,
  role: Role,
  lastDay?: string,
): { key: string; entry: string } {
  const key = `nq_${randomBytes(32).toString('base64url')}`;
  const entry = `${name}:${role}:sha256.${sha256(key).toString('base64url')}`;
  return { key, entry: lastDay === undefined ? entry : `${entry}:${lastDay}` };
}

const DAY_MS = 86_400_000;

/** The end of a day in UTC: milliseconds since the epoch; undefined for a text that is no date. */
export function endOfDay(date: string): number | undefined {
  const start = /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(`${date}T00:00:00Z`) : Number.NaN;
  const isDate = !Number.isNaN(start) && new Date(start).toISOString().startsWith(date);
  return isDate ? start + DAY_MS : undefined;
}

/** A hash that matches no user, so that an unknown name takes as long as a wrong password. */
let decoy: Promise<PasswordHash> | undefined;

/** @returns the user; undefined where name or password is wrong */
export async function checkPassword(
  users: ReadonlyMap<string, User>,
  name: string,
  password: string,
): Promise<User | undefined> {
  const user = users.get(name);
  decoy ??= hashPassword(randomBytes(32).toString('base64url')).then(hashOf);
  const matches = await isPassword(password, user?.password ?? (await decoy));
  return matches ? user : undefined;
}

function hashOf(text: string): PasswordHash {
  const hash = readPasswordHash(text);
  if (hash === undefined) throw new TypeError('cannot read the hash that was just made');
  return hash;
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function entries(
  text: string | undefined,
  field: string,
): { name: string; role: Role; secret: string; lastDay: string | undefined }[] {
  return (text ?? '')
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .map((entry) => {
      const [name = '', roleName, secret = '', lastDay] = entry.split(':');
      const role = ROLES.find((one) => one === roleName);
      if (name === '' || role === undefined) throw invalid(field, 'expected name:role:hash');
      return { name, role, secret, lastDay };
    });
}

function invalid(field: string, problem: string): InputError {
  return new InputError('CONFIG_INVALID', [{ field, problem }]);
}
