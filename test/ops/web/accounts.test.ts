import { describe, expect, it, test } from 'vitest';
import {
  checkPassword,
  findApiKey,
  hashPassword,
  MAX_PASSWORD_LENGTH,
  newApiKey,
  readApiKeys,
  readUsers,
} from '../../../src/ops/web/access/accounts.ts';
import { Sessions } from '../../../src/ops/web/access/sessions.ts';
import { InputError } from '../../../src/contracts/errors.ts';
import { cheapHash } from './support/ops-bench.ts';

const PASSWORD = 'a long enough password';
const hash = cheapHash(PASSWORD);
const SALT = 'c2FsdHNhbHRzYWx0c2FsdA';
const HASH = 'h'.repeat(43);

describe('users', () => {
  it('are read from lines or a list, and sign in with their passwords only', async () => {
    const users = readUsers(`kim:viewer:${hash}\n lee:operator:${hash},`);
    expect([...users.values()].map(({ name, role }) => [name, role])).toEqual([
      ['kim', 'viewer'],
      ['lee', 'operator'],
    ]);
    expect((await checkPassword(users, 'lee', PASSWORD))?.role).toBe('operator');
    for (const [name, password] of [
      ['lee', `${PASSWORD} `],
      ['lee', ''],
      ['nobody', PASSWORD],
      ['__proto__', PASSWORD],
    ] as const) {
      expect(await checkPassword(users, name, password)).toBeUndefined();
    }
    expect(readUsers(undefined).size).toBe(0);
  });

  it('get hashes that are dear, salted, and nothing that a shell or a compose file reads as a variable', async () => {
    const [one, other] = [await hashPassword(PASSWORD), await hashPassword(PASSWORD)];
    expect(one).not.toBe(other);
    expect(one).toMatch(/^scrypt\.15\.8\.3\.[\w-]{22}\.[\w-]{43}$/);
    const users = readUsers(`kim:viewer:${one}`);
    expect((await checkPassword(users, 'kim', PASSWORD))?.role).toBe('viewer');
  });

  it('type their passwords in any Unicode form, up to a length', async () => {
    const longest = 'x'.repeat(MAX_PASSWORD_LENGTH);
    for (const [password, typed, isRight] of [
      ['pass\u00e9phrase \uac00', 'pass\u00e9phrase \uac00'.normalize('NFD'), true],
      [longest, longest, true],
      [`${longest}x`, `${longest}x`, false],
    ] as const) {
      const users = readUsers(`kim:viewer:${cheapHash(password)}`);
      expect((await checkPassword(users, 'kim', typed)) !== undefined).toBe(isRight);
    }
  });

  test.each([
    `kim:viewer:${hash},kim:viewer:${hash}`,
    `kim:sender:${hash}`,
    `kim:admin:${hash}`,
    // No hash, or one too dear or too cheap.
    `kim:viewer:scrypt.30.8.1.${SALT}.${HASH}`,
    `kim:viewer:scrypt.15.99.1.${SALT}.${HASH}`,
    `kim:viewer:scrypt.15.8.0.${SALT}.${HASH}`,
    `kim:viewer:scrypt.15.8.1.c2FsdA.${HASH}`,
    `kim:viewer:scrypt.15.8.1.${SALT}.aGFzaA`,
    `kim:viewer:bcrypt.15.8.1.${SALT}.${HASH}`,
    'kim:viewer:scrypt.plain',
    'kim:viewer:',
  ])('are named where their entry is wrong, and no hash is shown: %s', (text) => {
    const wrong = errorOf(() => readUsers(text));
    expect(wrong.issues[0]?.field).toBe('OPS_USERS');
    expect(wrong.message).not.toContain('scrypt.');
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
    const days = ['', 'x', '2027-02-30', '2027-1-1', '2027-01-31T00:00:00Z'];
    const others = ['shop:sender:sha256.c2hvcnQ', 'shop:boss:sha256.x', ':sender:x'];
    for (const text of [...days.map((day) => `${entry}:${day}`), ...others]) {
      expect(errorOf(() => readApiKeys(text)).issues[0]?.field).toBe('OPS_API_KEYS');
    }
  });
});

describe('sessions', () => {
  const NOW = 1_800_000_000_000;
  const HOUR = 3_600_000;
  const KEY = 'k'.repeat(32);
  const ENTRY = `kim:viewer:${hash}`;
  const sessionsOf = (text: string, key?: string) => new Sessions(readUsers(text), HOUR, key);
  const sessions = sessionsOf(ENTRY, KEY);
  const kim = readUsers(ENTRY).get('kim');
  const cookie = kim === undefined ? '' : sessions.start(kim, NOW).cookie;

  it('last as long as they should and no longer', () => {
    const last = { name: 'kim', session: { until: NOW + HOUR } };
    expect(sessions.read(cookie, NOW + HOUR - 1)).toMatchObject(last);
    expect(sessions.read(cookie, NOW + HOUR)).toBeUndefined();
  });

  it("end with the user's entry, his role, his password, or another key, and not at a restart", () => {
    const read = (entry: string, key?: string) => sessionsOf(entry, key).read(cookie, NOW);
    expect(read(ENTRY, KEY)).toBeDefined();
    expect(read(ENTRY)).toBeUndefined();
    expect(read(ENTRY, 'x'.repeat(32))).toBeUndefined();
    const others = [`lee:viewer:${hash}`, `kim:operator:${hash}`];
    for (const other of [
      ...others,
      `kim:viewer:${cheapHash(PASSWORD, Buffer.from('another salt of them'))}`,
    ]) {
      expect(read(other, KEY)).toBeUndefined();
    }
  });

  it('cannot be made up or changed', () => {
    const [payload = '', signature = ''] = cookie.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    const changed = JSON.stringify({ ...claims, until: NOW * 2 });
    for (const forged of [
      '',
      '.',
      payload,
      `${payload}.`,
      `${Buffer.from(changed).toString('base64url')}.${signature}`,
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
