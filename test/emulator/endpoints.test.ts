import { describe, expect, test } from 'vitest';
import {
  base64,
  bearer,
  call,
  basic,
  json,
  NOTICE,
  noticeTo,
  sendWith,
  tokenOf,
  verdict,
} from './calls.ts';
import { tokenId } from '../../src/emulator/service/tokens.ts';
import { emulatorWith } from './running.ts';

const issue = '/api/v2/token';

function v1(emulator: Parameters<typeof call>[0], value: string) {
  const headers = { ...bearer(value), 'content-type': 'application/json' };
  return call(emulator, '/api/v1/notices/send', { headers, body: JSON.stringify(NOTICE) });
}

test('v1 takes the token encoded a second time, and answers 401 to any other', async () => {
  const emulator = await emulatorWith({ deadTokenCodes: 'field' });
  const token = await tokenOf(emulator);
  const values = [base64(token), token, base64(base64(token)), `${base64(token)}=x`];
  const answers = await Promise.all(values.map((value) => v1(emulator, value)));
  expect(answers.map(({ status }) => status)).toEqual([200, 401, 401, 401]);
  expect(answers.slice(1).map(verdict)).toContain('401 INVALID_BEARER_FORMAT');
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

  test('field codes tell a token whose lifetime is over', async () => {
    const emulator = await emulatorWith({ deadTokenCodes: 'field', tokenLifetimeMs: 1 });
    const token = await tokenOf(emulator);
    await expect
      .poll(async () => verdict(await sendWith(emulator, token)), { timeout: 2_000 })
      .toBe('401 TOKEN_EXPIRED');
  });
});

describe('token modes and key pairs', () => {
  test('apps do not touch each other: revoking one leaves the other', async () => {
    const emulator = await emulatorWith();
    const token = await tokenOf(emulator);
    emulator.setApp({ accessKey: 'other', secretKey: 'secret' });
    const other = emulator.issueForeign('other').value;
    expect(emulator.revokeTokens({ accessKey: 'other' })).toBe(1);
    expect((await sendWith(emulator, other)).status).toBe(401);
    expect((await sendWith(emulator, token)).status).toBe(200);
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

describe('service-api, Errors, on issuance', () => {
  test('INVALID_ACCESS_KEY: key unknown, secret wrong, header missing or malformed', async () => {
    const emulator = await emulatorWith();
    const values = [`Bearer ${base64('a:b')}`, 'Basic !!!', `Basic ${base64('no colon')}`];
    const malformed = values.map((authorization) => ({ authorization }));
    for (const headers of [basic('nobody'), basic(undefined, 'wrong'), {}, ...malformed]) {
      const answer = await call(emulator, issue, { headers });
      expect(verdict(answer)).toBe('401 INVALID_ACCESS_KEY');
    }
  });

  test('a body is refused: the request has none', async () => {
    const emulator = await emulatorWith();
    const answer = await call(emulator, issue, { headers: basic(), body: '{}' });
    expect(verdict(answer)).toBe('400 UNEXPECTED_BODY');
    expect(answer.headers['content-type']).toContain('application/json');
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
