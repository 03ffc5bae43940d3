import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';

/**
 * Format and cost of stored passwords: `scrypt.<log2 N>.<r>.<p>.<salt>.<hash>`, salt and hash as
 * base64url. It contains no `$`, which compose files and shells would read as a variable.
 */
const COST = { logN: 15, r: 8, p: 3 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;

/** Higher costs in a configured hash are refused: they would use up the memory of the process. */
const MAX_LOG_N = 18;
const MAX_R = 16;
const MAX_P = 4;

/** Shorter passwords are refused when they are hashed. */
export const MIN_PASSWORD_LENGTH = 12;
/** Longer passwords are refused, so that a sign-in cannot keep the process busy. */
export const MAX_PASSWORD_LENGTH = 256;

/** The parts of a password hash. */
export interface PasswordHash {
  readonly logN: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

/** Hashes a password with a new salt. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, { ...COST, salt, hash: Buffer.alloc(HASH_BYTES) });
  const parts = [COST.logN, COST.r, COST.p, salt.toString('base64url'), hash.toString('base64url')];
  return ['scrypt', ...parts].join('.');
}

/** @returns undefined where the text is not a hash, or its cost is above the maximum */
export function readPasswordHash(text: string): PasswordHash | undefined {
  const [word, logN, r, p, salt = '', hash = '', ...rest] = text.split('.');
  const read = {
    logN: Number(logN),
    r: Number(r),
    p: Number(p),
    salt: Buffer.from(salt, 'base64url'),
    hash: Buffer.from(hash, 'base64url'),
  };
  const fits =
    word === 'scrypt' &&
    rest.length === 0 &&
    within(read.logN, 10, MAX_LOG_N) &&
    within(read.r, 1, MAX_R) &&
    within(read.p, 1, MAX_P) &&
    read.salt.length >= 12 &&
    read.hash.length >= 24;
  return fits ? read : undefined;
}

/** Compares a password with a hash in constant time. */
export async function isPassword(password: string, kept: PasswordHash): Promise<boolean> {
  if (password.length > MAX_PASSWORD_LENGTH) return false;
  return timingSafeEqual(await derive(password, kept), kept.hash);
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

function within(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}
