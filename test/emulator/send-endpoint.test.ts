import { describe, expect, test } from 'vitest';
import {
  base64,
  bearer,
  call,
  data,
  NOTICE,
  noticeTo,
  sendWith,
  tokenOf,
  verdict,
} from './calls.ts';
import { emulatorWith } from './running.ts';

const FIRST_APP = 'emulator-access-key';

function v1(emulator: Parameters<typeof call>[0], value: string) {
  const headers = { ...bearer(value), 'content-type': 'application/json' };
  return call(emulator, '/api/v1/notices/send', { headers, body: JSON.stringify(NOTICE) });
}

describe('service-api, Authentication: the bearer value', () => {
  test('rule 1: v1 takes the token encoded a second time, and answers 401 to any other', async () => {
    const emulator = await emulatorWith();
    const token = await tokenOf(emulator);
    expect((await v1(emulator, base64(token))).status).toBe(200);
    expect((await v1(emulator, token)).status).toBe(401);
    expect((await v1(emulator, base64(base64(token)))).status).toBe(401);
    expect((await v1(emulator, `${base64(token)}=x`)).status).toBe(401);
  });

  test('rule 2: v2 takes the token as issued, and answers 401 to an encoded one', async () => {
    const emulator = await emulatorWith();
    const token = await tokenOf(emulator);
    expect((await sendWith(emulator, token)).status).toBe(200);
    expect((await sendWith(emulator, base64(token))).status).toBe(401);
  });

  test('rule 6: the allowlist holds for sends too', async () => {
    const emulator = await emulatorWith();
    const token = await tokenOf(emulator);
    emulator.setApp({ accessKey: FIRST_APP, allowlist: ['10.1.2.3'] });
    expect(verdict(await sendWith(emulator, token))).toBe('403 IP_NOT_ALLOWED');
    emulator.setApp({ accessKey: FIRST_APP, allowlist: [] });
    expect((await sendWith(emulator, token)).status).toBe(200);
  });

  test('rule 7: an app that is pending again is refused, and its token serves once approved', async () => {
    const emulator = await emulatorWith();
    const token = await tokenOf(emulator);
    emulator.setApp({ accessKey: FIRST_APP, approved: false });
    expect(verdict(await sendWith(emulator, token))).toBe('403 ACCESS_KEY_NOT_APPROVED');
    emulator.setApp({ accessKey: FIRST_APP, approved: true });
    expect((await sendWith(emulator, token)).status).toBe(200);
  });

  test('without a bearer value, or with another scheme, the answer is 401', async () => {
    const emulator = await emulatorWith();
    const token = await tokenOf(emulator);
    for (const authorization of ['', `Basic ${token}`, 'Bearer', `Bearer ${token}x`]) {
      const answer = await sendWith(emulator, token, NOTICE, { headers: { authorization } });
      expect(verdict(answer)).toBe('401 INVALID_ACCESS_KEY');
    }
  });
});

describe('service-api, Errors: INVALID_ACCESS_KEY is also the code of a token that is no good', () => {
  test.each([
    ['documented', 'INVALID_ACCESS_KEY', 'INVALID_ACCESS_KEY', 'INVALID_ACCESS_KEY'],
    ['field', 'TOKEN_MISMATCH', 'TOKEN_RECORD_NOT_FOUND', 'TOKEN_RECORD_NOT_FOUND'],
  ] as const)('%s codes: replaced %s, revoked %s, unknown %s', async (codes, ...expected) => {
    const emulator = await emulatorWith({ deadTokenCodes: codes });
    const first = await tokenOf(emulator);
    const second = await tokenOf(emulator);
    const answers = [await sendWith(emulator, first)];
    expect((await sendWith(emulator, second)).status).toBe(200);
    emulator.revokeTokens();
    answers.push(await sendWith(emulator, second), await sendWith(emulator, 'never.issued.here'));
    expect(answers.map(verdict)).toEqual(expected.map((code) => `401 ${code}`));
  });

  test('field codes tell a malformed bearer value apart', async () => {
    const emulator = await emulatorWith({ deadTokenCodes: 'field' });
    const answer = await v1(emulator, 'not.base64');
    expect(verdict(answer)).toBe('401 INVALID_BEARER_FORMAT');
  });

  test.each([
    ['documented', '401 INVALID_ACCESS_KEY'],
    ['field', '401 TOKEN_EXPIRED'],
  ] as const)('%s: a token whose lifetime is over gets %s', async (codes, expected) => {
    const emulator = await emulatorWith({ deadTokenCodes: codes, tokenLifetimeMs: 1 });
    const token = await tokenOf(emulator);
    await expect
      .poll(async () => verdict(await sendWith(emulator, token)), { timeout: 2_000 })
      .toBe(expected);
  });
});

describe('token modes and key pairs', () => {
  test('many: tokens live side by side', async () => {
    const emulator = await emulatorWith({ tokenMode: 'many' });
    const first = await tokenOf(emulator);
    await tokenOf(emulator);
    expect((await sendWith(emulator, first)).status).toBe(200);
  });

  test('apps do not touch each other: revoking one leaves the other', async () => {
    const emulator = await emulatorWith();
    const token = await tokenOf(emulator);
    emulator.setApp({ accessKey: 'other', secretKey: 'secret' });
    const other = emulator.issueForeign('other').value;
    expect(emulator.revokeTokens({ accessKey: 'other' })).toBe(1);
    expect((await sendWith(emulator, other)).status).toBe(401);
    expect((await sendWith(emulator, token)).status).toBe(200);
  });

  test('a new secret is a new key pair: tokens of the old one are revoked', async () => {
    const emulator = await emulatorWith();
    const token = await tokenOf(emulator);
    emulator.setApp({ accessKey: FIRST_APP, secretKey: 'another' });
    expect((await sendWith(emulator, token)).status).toBe(401);
  });

  test('a foreign issuance replaces our token and is told apart on record', async () => {
    const emulator = await emulatorWith();
    const ours = await tokenOf(emulator);
    const theirs = emulator.issueForeign();
    expect((await sendWith(emulator, ours)).status).toBe(401);
    expect((await sendWith(emulator, theirs.value)).status).toBe(200);
    expect(emulator.issuances().at(-1)).toMatchObject({ token: theirs.id, foreign: true });
    expect(emulator.record().tokens).toEqual({ issued: 1, refused: 0, foreign: 1 });
  });
});

describe('service-api, Send request body', () => {
  test('the fields shown are accepted, unknown fields pass', async () => {
    const emulator = await emulatorWith();
    const notice = { ...NOTICE, at: '2030-01-01 00:00:00', replaceSms: 'Y' };
    const answer = await sendWith(emulator, await tokenOf(emulator), notice);
    expect(answer.status).toBe(200);
    expect(data(answer)).toEqual({ acceptedCount: 1, requestId: expect.any(String) as unknown });
  });

  const contact = (value: unknown) => ({ ...NOTICE, contacts: [NOTICE.contacts[0], value] });
  test.each([
    ['no template code', { ...NOTICE, templateCode: undefined }, '400 INVALID_FIELD'],
    ['an empty template code', { ...NOTICE, templateCode: '' }, '400 INVALID_FIELD'],
    ['no schedule type', { ...NOTICE, scheduleType: undefined }, '400 INVALID_FIELD'],
    ['a sender key that is no text', { ...NOTICE, senderKey: 7 }, '400 INVALID_FIELD'],
    ['no contacts', { ...NOTICE, contacts: undefined }, '400 INVALID_CONTACTS'],
    ['contacts that are no array', { ...NOTICE, contacts: {} }, '400 INVALID_CONTACTS'],
    ['empty contacts', { ...NOTICE, contacts: [] }, '422 EMPTY_CONTACTS'],
    ['too many contacts', noticeTo('1', '2', '3', '4'), '422 TOO_MANY_CONTACTS'],
    ['a contact that is no object', contact('01000000002'), '400 INVALID_CONTACT'],
    ['a number with separators', contact({ contact: '010-0000-0002' }), '400 INVALID_CONTACT'],
    ['a number with a plus sign', contact({ contact: '+821000000002' }), '400 INVALID_CONTACT'],
    ['a number that is no text', contact({ contact: 1_000 }), '400 INVALID_CONTACT'],
    ['a number on the reject list', noticeTo('1', '666'), '400 INVALID_CONTACT'],
    ['a variable that is no text', contact({ contact: '2', var2: 7 }), '400 INVALID_VARIABLE'],
    ['an unknown template', { ...NOTICE, templateCode: 'GONE' }, '404 TEMPLATE_NOT_FOUND'],
    ['a body that is no object', [NOTICE], '400 INVALID_BODY'],
  ])('%s is refused whole', async (_what, notice, expected) => {
    const emulator = await emulatorWith({
      maxContactsPerRequest: 3,
      rejectContacts: ['666'],
      unknownTemplates: ['GONE'],
    });
    const answer = await sendWith(emulator, await tokenOf(emulator), notice);
    expect(verdict(answer)).toBe(expected);
    expect(emulator.record().contacts).toBe(0);
  });

  test('service-api, Endpoints: the content type is application/json', async () => {
    const emulator = await emulatorWith();
    const token = await tokenOf(emulator);
    const withType = (type: string) =>
      sendWith(emulator, token, NOTICE, { headers: { 'content-type': type } });
    expect(verdict(await withType('text/plain'))).toBe('400 INVALID_CONTENT_TYPE');
    expect((await withType('application/json; charset=utf-8')).status).toBe(200);
  });

  test('a body that is not JSON is refused, after a token that is no good', async () => {
    const emulator = await emulatorWith();
    const answer = await sendWith(emulator, await tokenOf(emulator), NOTICE, { body: '{"a":' });
    expect(verdict(answer)).toBe('400 INVALID_JSON');
    expect((await sendWith(emulator, 'x', {})).status).toBe(401);
  });
});

test('unknown paths answer 404, other methods 405 with the one that is taken', async () => {
  const emulator = await emulatorWith();
  expect(verdict(await call(emulator, '/api/v3/token'))).toBe('404 NOT_FOUND');
  const wrong = await call(emulator, '/api/v2/token', { method: 'GET' });
  expect(verdict(wrong)).toBe('405 METHOD_NOT_ALLOWED');
  expect(wrong.headers['allow']).toBe('POST');
});
