import { createHash, randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';
import { InputError } from '../../../contracts/errors.ts';
import { ROLES, type Role } from './identity.ts';

/**
 * Format and cost of stored passwords: `scrypt.<log2 N>.<r>.<p>.<salt>.<hash>`, salt and hash as
 * base64url. It contains no `$`, which compose files and shells would read as a variable.
 */
const COST = { logN: 15, r: 8, p: 3 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;

/** Highest costs of a configured hash: higher ones would use up the memory of the process. */
const MAX_COST = { logN: 18, r: 16, p: 4 } as const;
const ENTRY = /^scrypt\.(\d+)\.(\d+)\.(\d+)\.([\w-]{16,})\.([\w-]{32,})$/;

/** Shorter passwords are refused when they are hashed. */
export const MIN_PASSWORD_LENGTH = 12;
/** Longer passwords are refused, so that a sign-in cannot keep the process busy. */
export const MAX_PASSWORD_LENGTH = 256;

interface PasswordHash {
  readonly logN: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

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

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, { ...COST, salt, hash: Buffer.alloc(HASH_BYTES) });
  const parts = [COST.logN, COST.r, COST.p, salt.toString('base64url'), hash.toString('base64url')];
  return ['scrypt', ...parts].join('.');
}

/** @returns undefined where the text is not a hash, or its cost is above the maximum */
function readPasswordHash(text: string): PasswordHash | undefined {
  const [, logN, r, p, salt = '', hash = ''] = ENTRY.exec(text) ?? [];
  const cost = { logN: Number(logN), r: Number(r), p: Number(p) };
  const within = (name: keyof typeof cost, min: number) =>
    cost[name] >= min && cost[name] <= MAX_COST[name];
  if (!within('logN', 10) || !within('r', 1) || !within('p', 1)) return undefined;
  return { ...cost, salt: Buffer.from(salt, 'base64url'), hash: Buffer.from(hash, 'base64url') };
}

/** Normalizes first: keyboards produce the same text in different Unicode forms. */
function derive(password: string, { logN, r, p, salt, hash }: PasswordHash): Promise<Buffer> {
  const N = 2 ** logN;
  const options: ScryptOptions = { N, r, p, maxmem: 256 * N * r + 1_048_576 };
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, hash.length, options, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}

/** A hash of no password: so an unknown name takes as long as a wrong password. */
const DECOY = { ...COST, salt: randomBytes(SALT_BYTES), hash: randomBytes(HASH_BYTES) };

/** Compares in constant time. @returns the user; undefined where name or password is wrong */
export async function checkPassword(
  users: ReadonlyMap<string, User>,
  name: string,
  password: string,
): Promise<User | undefined> {
  if (password.length > MAX_PASSWORD_LENGTH) return undefined;
  const user = users.get(name);
  const kept = user?.password ?? DECOY;
  return timingSafeEqual(await derive(password, kept), kept.hash) ? user : undefined;
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

const sha256 = (text: string) => createHash('sha256').update(text).digest();

/** Entries of a list: name, role, secret, and the last day where there is one. */
function entries(text: string | undefined, field: string) {
  const all = (text ?? '').split(/[\s,]+/).filter((entry) => entry !== '');
  return all.map((entry) => {
    const [name = '', roleName, secret = '', lastDay] = entry.split(':');
    const role = ROLES.find((one) => one === roleName);
    if (name === '' || role === undefined) throw invalid(field, 'expected name:role:hash');
    return { name, role, secret, lastDay };
  });
}

function invalid(field: string, problem: string): InputError {
  return new InputError('CONFIG_INVALID', [{ field, problem }]);
}
