import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { controlGate } from '../../src/emulator/control-api.ts';
import type { Emulator } from '../../src/emulator/emulator.ts';
import { basic, call, json, noticeTo, sendWith, tokenOf, verdict } from './calls.ts';
import { emulatorWith } from './running.ts';

const get = (emulator: Emulator, path: string) =>
  call(emulator, `/control/${path}`, { method: 'GET' });

const post = (emulator: Emulator, path: string, body?: unknown) =>
  call(emulator, `/control/${path}`, body === undefined ? {} : { body: JSON.stringify(body) });

const linesOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('the control API', () => {
  test('record, contacts, details and issuances say what the emulator object says', async () => {
    const emulator = await emulatorWith();
    await sendWith(emulator, await tokenOf(emulator), noticeTo('1', '2', '1'));
    expect(json(await get(emulator, 'record'))).toEqual(emulator.record());
    expect(linesOf((await get(emulator, 'record/contacts')).text)).toEqual([
      { contact: '1', count: 2 },
      { contact: '2', count: 1 },
    ]);
    expect(linesOf((await get(emulator, 'record/contacts?twice=1')).text)).toEqual([
      { contact: '1', count: 2 },
    ]);
    expect(linesOf((await get(emulator, 'record/details')).text)).toEqual(emulator.details());
    expect(json(await get(emulator, 'issuances'))).toEqual({ issuances: emulator.issuances() });
  });

  test('contacts stream all of a long record', async () => {
    const emulator = await emulatorWith();
    const numbers = Array.from({ length: 25_000 }, (_, index) => String(index));
    await sendWith(emulator, await tokenOf(emulator), noticeTo(...numbers));
    const lines = linesOf((await get(emulator, 'record/contacts')).text);
    expect(lines.map(({ contact }) => contact)).toEqual(numbers);
  });

  test('apps are created and changed', async () => {
    const emulator = await emulatorWith();
    const app = { accessKey: 'new', secretKey: 'secret', approved: false, tokenMode: 'many' };
    expect((await post(emulator, 'apps', app)).status).toBe(200);
    const issue = () => call(emulator, '/api/v2/token', { headers: basic('new', 'secret') });
    expect(verdict(await issue())).toBe('403 ACCESS_KEY_NOT_APPROVED');
    await post(emulator, 'apps', { accessKey: 'new', approved: true });
    expect((await issue()).status).toBe(200);
  });

  test('tokens are revoked at once, or after so many accepted contacts', async () => {
    const emulator = await emulatorWith();
    const first = await tokenOf(emulator);
    expect(json(await post(emulator, 'tokens/revoke'))).toEqual({ revoked: 1 });
    expect((await sendWith(emulator, first)).status).toBe(401);
    const second = await tokenOf(emulator);
    expect(json(await post(emulator, 'tokens/revoke', { afterAccepted: 1 }))).toEqual({
      revoked: 0,
    });
    expect((await sendWith(emulator, second)).status).toBe(200);
    expect((await sendWith(emulator, second)).status).toBe(401);
  });

  test('faults are added as an object or a line, listed with how often they struck, cleared', async () => {
    const emulator = await emulatorWith();
    const line = await post(emulator, 'faults', { on: 'token', status: 500, times: 1 });
    const object = await post(emulator, 'faults', { on: 'send', status: 503 });
    expect([json(line), json(object)]).toEqual([{ id: 1 }, { id: 2 }]);
    await call(emulator, '/api/v2/token', { headers: basic() });
    const { faults } = json(await get(emulator, 'faults'));
    expect(faults).toEqual([
      { id: 1, fault: { on: 'token', status: 500, times: 1 }, fired: 1, spent: true },
      { id: 2, fault: { on: 'send', status: 503 }, fired: 0, spent: false },
    ]);
    await call(emulator, '/control/faults', { method: 'DELETE' });
    expect(emulator.faults()).toEqual([]);
  });

  test.each([
    ['apps', { accessKey: 'a:b', secretKey: 's' }, 'accessKey: expected no colon'],
    ['apps', { accessKey: 'a', secretKey: 's', aproved: true }, 'unknown field "aproved"'],
    ['apps', { accessKey: 'a', secretKey: 's', allowlist: ['10.0.0.0/33'] }, 'allowlist: expected'],
    ['tokens/revoke', { afterAccepted: 0 }, 'afterAccepted: expected 1 to'],
    ['tokens/revoke', { accessKey: 'nobody' }, 'no app has this access key'],
    ['faults', { on: 'send' }, 'expected an effect'],
  ])('POST %s %j is refused by name', async (path, body, message) => {
    const emulator = await emulatorWith();
    const answer = await post(emulator, path, body);
    expect(verdict(answer)).toBe('400 INVALID_REQUEST');
    expect(json(answer)['message']).toContain(message);
  });

  test('bodies that are not JSON, other methods and unknown paths', async () => {
    const emulator = await emulatorWith();
    const broken = await call(emulator, '/control/apps', { body: '{' });
    expect(verdict(broken)).toBe('400 INVALID_JSON');
    expect(verdict(await post(emulator, 'record'))).toBe('405 METHOD_NOT_ALLOWED');
    expect(verdict(await get(emulator, 'nothing'))).toBe('404 NOT_FOUND');
  });
});

describe('who may use the control API', () => {
  test.each([
    ['loopback, no key', undefined, true, undefined, undefined],
    ['beyond loopback, no key', undefined, false, 'x', 'CONTROL_CLOSED'],
    ['the right key', 'k', false, 'k', undefined],
    ['a wrong key', 'k', false, 'kk', 'CONTROL_KEY_REQUIRED'],
    ['no key where one is set, on loopback too', 'k', true, undefined, 'CONTROL_KEY_REQUIRED'],
  ])('%s', (_case, expected, onLoopback, given, refusal) => {
    expect(controlGate(expected, onLoopback, given)).toBe(refusal);
  });

  test('a page of another site cannot reach it under a name of its own', async () => {
    const { port } = await emulatorWith();
    const statuses = ['evil.example', 'localhost:4010', '127.0.0.1'].map(async (host) => {
      const sent = request({ port, path: '/control/record', headers: { host } }).end();
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      return answer.resume().statusCode;
    });
    expect(await Promise.all(statuses)).toEqual([403, 200, 200]);
  });

  test('an emulator with a key asks for it over HTTP, except for its health', async () => {
    const emulator = await emulatorWith({ controlKey: 'key of the control' });
    expect((await get(emulator, 'record')).status).toBe(401);
    const keyed = await call(emulator, '/control/record', {
      method: 'GET',
      headers: { 'x-control-key': 'key of the control' },
    });
    expect(keyed.status).toBe(200);
    expect(json(await get(emulator, 'health'))).toEqual({ status: 'ok' });
  });
});
