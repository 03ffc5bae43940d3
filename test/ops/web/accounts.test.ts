import { describe, expect, it, test } from 'vitest';
import {
  checkPassword,
  findApiKey,
  newApiKey,
  readApiKeys,
  readUsers,
} from '../../../src/ops/web/access/accounts.ts';
import {
  hashPassword,
  isPassword,
  MAX_PASSWORD_LENGTH,
  readPasswordHash,
} from '../../../src/ops/web/access/password.ts';
import { Sessions } from '../../../src/ops/web/access/sessions.ts';
import { InputError } from '../../../src/contracts/errors.ts';

const PASSWORD = 'a long enough password';
const hash = hashPassword(PASSWORD);

describe('passwords', () => {
  it('are found right, in any Unicode form, and salted', async () => {
    const word = 'pass\u00e9phrase \uac00';
    const kept = readPasswordHash(await hashPassword(word));
    if (kept === undefined) throw new Error('our own hash cannot be read');
    expect(await isPassword(word, kept)).toBe(true);
    expect(await isPassword(word.normalize('NFD'), kept)).toBe(true);
    expect(await isPassword(`${word} `, kept)).toBe(false);
    expect(await isPassword('', kept)).toBe(false);
    const longest = 'x'.repeat(MAX_PASSWORD_LENGTH);
    for (const [text, isRight] of [
      [longest, true],
      [`${longest}x`, false],
    ] as const) {
      const hashed = readPasswordHash(await hashPassword(text));
      expect(hashed !== undefined && (await isPassword(text, hashed))).toBe(isRight);
    }
    const [one, other] = [await hash, await hashPassword(PASSWORD)];
    expect(one).not.toBe(other);
    // Nothing that a shell or a compose file would read as a variable.
    expect(one).toMatch(/^scrypt\.15\.8\.3\.[\w-]{22}\.[\w-]{43}$/);
  });

  test.each([
    'scrypt.30.8.1.c2FsdHNhbHRzYWx0c2FsdA.' + 'h'.repeat(43),
    'scrypt.15.99.1.c2FsdHNhbHRzYWx0c2FsdA.' + 'h'.repeat(43),
    'scrypt.15.8.0.c2FsdHNhbHRzYWx0c2FsdA.' + 'h'.repeat(43),
    'scrypt.15.8.1.c2FsdA.' + 'h'.repeat(43),
    'scrypt.15.8.1.c2FsdHNhbHRzYWx0c2FsdA.aGFzaA',
    'bcrypt.15.8.1.c2FsdHNhbHRzYWx0c2FsdA.' + 'h'.repeat(43),
    'plain',
    '',
  ])('no hash, or one too dear or too cheap: %s', (text) => {
    expect(readPasswordHash(text)).toBeUndefined();
  });
});

describe('users', () => {
  it('are read from lines or a list, and sign in', async () => {
    const users = readUsers(`kim:viewer:${await hash}\n lee:operator:${await hash},`);
    expect([...users.values()].map(({ name, role }) => [name, role])).toEqual([
      ['kim', 'viewer'],
      ['lee', 'operator'],
    ]);
    expect((await checkPassword(users, 'lee', PASSWORD))?.role).toBe('operator');
    expect(await checkPassword(users, 'lee', 'another password')).toBeUndefined();
    expect(await checkPassword(users, 'nobody', PASSWORD)).toBeUndefined();
    expect(await checkPassword(users, '__proto__', PASSWORD)).toBeUndefined();
    expect(readUsers(undefined).size).toBe(0);
  });

  it('twice the same name, a wrong role or hash is named, and no hash shown', async () => {
    const entry = `kim:viewer:${await hash}`;
    for (const text of [
      `${entry},${entry}`,
      `kim:sender:${await hash}`,
      `kim:admin:${await hash}`,
      'kim:viewer:scrypt.31.8.1.abcdefghijklmnop.h',
    ]) {
      const wrong = errorOf(() => readUsers(text));
      expect(wrong.issues[0]?.field).toBe('OPS_USERS');
      expect(wrong.message).not.toContain('scrypt.');
    }
  });
});

describe('API keys', () => {
  it('are found by the key, never by its entry', () => {
    const [shop, other] = [newApiKey('shop', 'sender'), newApiKey('watch', 'viewer')];
    const keys = readApiKeys(`${shop.entry}\n${other.entry}`);
    expect(findApiKey(keys, shop.key, 0)).toMatchObject({ name: 'shop', role: 'sender' });
    expect(findApiKey(keys, other.key, 0)).toMatchObject({ name: 'watch', role: 'viewer' });
    for (const shown of ['', shop.entry, shop.entry.split('.')[1] ?? '', `${shop.key}x`]) {
      expect(findApiKey(keys, shown, 0)).toBeUndefined();
    }
    expect(shop.entry).not.toContain(shop.key.slice(3));
  });

  it('expire at the end of their last day; an old and a new key have the same name meanwhile', () => {
    const [old, next] = [newApiKey('shop', 'sender', '2027-01-31'), newApiKey('shop', 'sender')];
    const keys = readApiKeys(`${old.entry}, ${next.entry}`);
    const at = (time: string) =>
      [old, next].map(({ key }) => findApiKey(keys, key, Date.parse(time))?.name);
    expect(at('2027-01-31T23:59:59.999Z')).toEqual(['shop', 'shop']);
    expect(at('2027-02-01T00:00:00Z')).toEqual([undefined, 'shop']);
  });

  it('a wrong entry is named', () => {
    const { entry } = newApiKey('shop', 'sender');
    for (const day of ['', 'x', '2027-02-30', '2027-1-1', '2027-01-31T00:00:00Z']) {
      expect(errorOf(() => readApiKeys(`${entry}:${day}`)).issues[0]?.field).toBe('OPS_API_KEYS');
    }
    for (const text of ['shop:sender:sha256.c2hvcnQ', 'shop:boss:sha256.x', ':sender:x']) {
      expect(errorOf(() => readApiKeys(text)).issues[0]?.field).toBe('OPS_API_KEYS');
    }
  });
});

describe('sessions', () => {
  const NOW = 1_800_000_000_000;
  const HOUR = 3_600_000;
  const KEY = 'k'.repeat(32);
  const sessionsOf = (text: string, key: string | undefined = KEY) => {
    const users = readUsers(text);
    return { users, sessions: new Sessions(users, HOUR, key) };
  };
  const signedIn = async () => {
    const { users, sessions } = sessionsOf(`kim:viewer:${await hash}`);
    const user = users.get('kim');
    if (user === undefined) throw new Error('no user');
    return { sessions, ...sessions.start(user, NOW) };
  };

  it('last as long as they should and no longer', async () => {
    const { sessions, cookie } = await signedIn();
    const last = { user: { name: 'kim' }, until: NOW + HOUR };
    expect(sessions.read(cookie, NOW + HOUR - 1)).toMatchObject(last);
    expect(sessions.read(cookie, NOW + HOUR)).toBeUndefined();
  });

  it("end with the user's entry, his role, his password, or another key, and not at a restart", async () => {
    const { cookie } = await signedIn();
    const text = `kim:viewer:${await hash}`;
    const read = (entry: string, key?: string) => sessionsOf(entry, key).sessions.read(cookie, NOW);
    expect(read(text)).toBeDefined();
    expect(new Sessions(readUsers(text), HOUR).read(cookie, NOW)).toBeUndefined();
    expect(read(text, 'x'.repeat(32))).toBeUndefined();
    for (const other of [
      `lee:viewer:${await hash}`,
      `kim:operator:${await hash}`,
      `kim:viewer:${await hashPassword(PASSWORD)}`,
    ]) {
      expect(read(other)).toBeUndefined();
    }
  });

  it('cannot be made up or changed', async () => {
    const { sessions, cookie } = await signedIn();
    const [payload = '', signature = ''] = cookie.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    const longer = Buffer.from(JSON.stringify({ ...claims, e: NOW * 2 })).toString('base64url');
    for (const forged of [
      '',
      '.',
      payload,
      `${payload}.`,
      `${longer}.${signature}`,
      `${payload}.${signature}.`,
      `${payload}.${signature.slice(1)}`,
      `${payload}.${sessions.csrfToken(payload)}`,
    ]) {
      expect(sessions.read(forged, NOW)).toBeUndefined();
    }
  });
});

function errorOf(read: () => unknown): InputError {
  try {
    read();
  } catch (error) {
    if (error instanceof InputError) return error;
  }
  throw new Error('nothing was refused');
}
