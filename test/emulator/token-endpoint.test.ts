import { describe, expect, test } from 'vitest';
import { tokenId } from '../../src/emulator/service/tokens.ts';
import { base64, basic, call, data, json, sendWith, tokenOf, verdict } from './calls.ts';
import { emulatorWith } from './running.ts';

const issue = '/api/v2/token';

function payloadOf(token: string): Record<string, unknown> {
  const part = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8');
  return JSON.parse(part) as Record<string, unknown>;
}

describe('service-api, Endpoints: POST /api/v2/token', () => {
  test('a Basic key pair and no body bring data.token and nothing else', async () => {
    const emulator = await emulatorWith();
    const answer = await call(emulator, issue, { headers: basic() });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toContain('application/json');
    expect(json(answer)).toEqual({ data: { token: expect.any(String) as unknown } });
  });

  test('the token has the structure of a signed JSON web token and is new each time', async () => {
    const emulator = await emulatorWith();
    const [one, two] = [await tokenOf(emulator), await tokenOf(emulator)];
    expect(one).toMatch(/^[\w-]+\.[\w-]+\.[\w-]{43}$/);
    expect(two).not.toBe(one);
    expect(payloadOf(one)['exp']).toBeUndefined();
  });

  test('issuance is identical for v1 and v2', async () => {
    const emulator = await emulatorWith();
    const answer = await call(emulator, '/api/v1/token', { headers: basic() });
    const sent = await sendWith(emulator, String(data(answer)['token']));
    expect(sent.status).toBe(200);
  });

  test('a body is refused: the request has none', async () => {
    const emulator = await emulatorWith();
    const answer = await call(emulator, issue, { headers: basic(), body: '{}' });
    expect(verdict(answer)).toBe('400 UNEXPECTED_BODY');
  });

  test('a secret may hold colons, the access key ends at the first', async () => {
    const emulator = await emulatorWith({ accessKey: 'a', secretKey: 's:e:c' });
    expect((await call(emulator, issue, { headers: basic('a', 's:e:c') })).status).toBe(200);
  });
});

describe('service-api, Errors, on issuance', () => {
  test('INVALID_ACCESS_KEY: key unknown, secret wrong, header missing or malformed', async () => {
    const emulator = await emulatorWith();
    const headers = [
      basic('nobody'),
      basic(undefined, 'wrong'),
      {},
      { authorization: `Bearer ${base64('a:b')}` },
      { authorization: 'Basic !!!' },
      { authorization: `Basic ${base64('no colon')}` },
    ];
    for (const each of headers) {
      expect(verdict(await call(emulator, issue, { headers: each }))).toBe(
        '401 INVALID_ACCESS_KEY',
      );
    }
  });

  test('ACCESS_KEY_NOT_APPROVED until the app is approved', async () => {
    const emulator = await emulatorWith({ approved: false });
    const { headers } = { headers: basic() };
    expect(verdict(await call(emulator, issue, { headers }))).toBe('403 ACCESS_KEY_NOT_APPROVED');
    emulator.setApp({ accessKey: 'emulator-access-key', approved: true });
    expect((await call(emulator, issue, { headers })).status).toBe(200);
  });

  test('a wrong secret is told before approval: only 403 means authenticated', async () => {
    const emulator = await emulatorWith({ approved: false, allowlist: ['10.0.0.1'] });
    const answer = await call(emulator, issue, { headers: basic(undefined, 'wrong') });
    expect(verdict(answer)).toBe('401 INVALID_ACCESS_KEY');
  });

  test('IP_NOT_ALLOWED outside the allowlist, whether it names addresses or networks', async () => {
    const emulator = await emulatorWith({ allowlist: ['127.0.0.2', '127.9.0.0/16'] });
    const from = async (address: string) =>
      (await call(emulator, issue, { headers: basic(), from: address })).status;
    expect(await from('127.0.0.2')).toBe(200);
    expect(await from('127.9.8.7')).toBe(200);
    const refused = await call(emulator, issue, { headers: basic(), from: '127.0.0.3' });
    expect(verdict(refused)).toBe('403 IP_NOT_ALLOWED');
  });

  test('the error body has code, message, traceId and timestamp, and repeats no secret', async () => {
    const emulator = await emulatorWith();
    const answer = await call(emulator, issue, { headers: basic('leaky-key', 'leaky-secret') });
    expect(Object.keys(json(answer))).toEqual(['code', 'message', 'traceId', 'timestamp']);
    expect(answer.text).not.toContain('leaky');
    expect(JSON.stringify(emulator.issuances())).not.toContain('leaky');
  });
});

describe('what a caller can know of the expiry', () => {
  test('answer: expiresAt stands beside the token', async () => {
    const emulator = await emulatorWith({ showExpiry: 'answer', tokenLifetimeMs: 60_000 });
    const before = Date.now();
    const { expiresAt } = data(await call(emulator, issue, { headers: basic() }));
    const life = Date.parse(String(expiresAt)) - before;
    expect(life).toBeGreaterThanOrEqual(60_000);
    expect(life).toBeLessThan(70_000);
  });

  test('jwt: the token holds exp, in seconds', async () => {
    const emulator = await emulatorWith({ showExpiry: 'jwt', tokenLifetimeMs: 60_000 });
    const before = Date.now();
    const { exp, iat } = payloadOf(await tokenOf(emulator));
    expect(Number(exp) - Number(iat)).toBe(60);
    expect(Number(exp)).toBeGreaterThanOrEqual(Math.floor(before / 1_000) + 60);
  });
});

test('every issuance is on record with the id of its token, and refusals too', async () => {
  const emulator = await emulatorWith();
  const token = await tokenOf(emulator);
  await call(emulator, issue, { headers: basic(undefined, 'wrong') });
  await call(emulator, issue, { headers: basic('nobody') });
  const app = tokenId('emulator-access-key');
  expect(emulator.issuances()).toMatchObject([
    { app, token: tokenId(token), outcome: 'issued', foreign: false },
    { app, token: null, outcome: 'INVALID_ACCESS_KEY' },
    { app: null, token: null, outcome: 'INVALID_ACCESS_KEY' },
  ]);
  expect(emulator.record().tokens).toEqual({ issued: 1, refused: 2, foreign: 0 });
});
