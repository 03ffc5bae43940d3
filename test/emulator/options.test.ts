import { connect } from 'node:net';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { isLoopback, startEmulator } from '../../src/emulator/emulator.ts';
import { EMULATOR_DEFAULTS } from '../../src/emulator/options.ts';
import { settingsFrom } from '../../src/emulator/options.ts';
import { AppBook } from '../../src/emulator/service/apps.ts';
import { TokenBook } from '../../src/emulator/service/tokens.ts';
import { tokenOf } from './calls.ts';
import { emulatorWith } from './running.ts';

describe('options', () => {
  test('none at all, or undefined ones, mean the defaults', () => {
    expect(settingsFrom({})).toEqual(EMULATOR_DEFAULTS);
    expect(settingsFrom({ port: undefined, controlKey: undefined })).toEqual(EMULATOR_DEFAULTS);
  });

  test.each([
    [{ host: '' }, 'host: expected a text'],
    [{ port: 65_536 }, 'port: expected 0 to 65535'],
    [{ port: '80' }, 'port: expected a whole number'],
    [{ accessKey: 7 }, 'accessKey: expected a text'],
    [{ allowlist: '10.0.0.1' }, 'allowlist: expected a list'],
    [{ tokenMode: 'few' }, 'tokenMode: expected one of single, many'],
    [{ keepDetails: 1.5 }, 'keepDetails: expected a whole number'],
    [{ faults: [{ on: 'send' }] }, 'expected an effect'],
    [{ prot: 1 }, 'unknown field "prot"'],
  ])('%j is refused by name', (options, message) => {
    expect(() => settingsFrom(options as object)).toThrow(message);
  });

  test('a wrong value is never repeated where it may be a secret', async () => {
    const starting = startEmulator({ accessKey: 'the:key', secretKey: 'the-secret' });
    await expect(starting).rejects.toThrow(/^accessKey: expected no colon in it$/);
  });

  test.each([
    ['127.0.0.1', true],
    ['127.8.9.1', true],
    ['::1', true],
    ['0.0.0.0', false],
    ['::', false],
    ['192.168.0.7', false],
  ])('%s is loopback: %s', (address, expected) => {
    expect(isLoopback(address)).toBe(expected);
  });
});

describe('life of an emulator', () => {
  test('two on one port: the second says so', async () => {
    const { port } = await emulatorWith();
    await expect(startEmulator({ port })).rejects.toThrow('EADDRINUSE');
  });

  test('close cuts connections that are open, idle or hanging, and may be called twice', async () => {
    const emulator = await startEmulator({ faults: [{ on: 'any', hang: 'before-acting' }] });
    const idle = connect({ host: '127.0.0.1', port: emulator.port });
    await once(idle, 'connect');
    const hanging = tokenOf(emulator).catch((error: unknown) => error);
    await expect.poll(() => emulator.faults()[0]?.fired).toBe(1);
    const cut = once(idle, 'close');
    await Promise.all([emulator.close(), emulator.close()]);
    expect(await hanging).toMatchObject({ code: 'ECONNRESET' });
    await cut;
    await expect(tokenOf(emulator)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

test('ends of tokens are forgotten in time, live tokens never', () => {
  const settings = {
    approved: true,
    allowlist: [],
    tokenMode: 'many',
    tokenLifetimeMs: 1_000,
  } as const;
  const { app } = new AppBook(settings).set({ accessKey: 'a', secretKey: 's' });
  const book = new TokenBook(false, () => 0);
  const dead = book.issue(app).value;
  book.revoke();
  const live = book.issue(app).value;
  for (let more = 0; more < 10_000; more += 1) book.issue(app);
  expect(book.judge(dead).state).toBe('unknown');
  expect(book.judge(live).state).toBe('live');
});
