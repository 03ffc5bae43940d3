import { describe, expect, it } from 'vitest';
import type { Notice } from '../../src/contracts/notice.ts';
import { CANARY, FIRST, openClient, tokensOf } from './support/client.ts';
import { tcpAnswers } from './support/servers.ts';
import type { SendAnswer } from '../../src/service/send-call.ts';

const NUMBER = '01098765432';
const NAME = '홍길동';
const ORDER = 'Order-Kx7-Wq';
const LONG = 'Dear customer, your parcel waits at the corner shop until Friday.';
const NOTICE: Notice = {
  templateCode: 'ORDER_SHIPPED',
  contacts: [{ contact: NUMBER, name: NAME, var1: ORDER, var2: LONG, var3: 'ab' }],
};

/** What is kept of this answer to a notice, and to bytes of contacts. */
async function answering(
  status: number,
  answer: Readonly<Record<string, unknown>> | string,
  { contacts, ...frame } = NOTICE,
  bytes = Buffer.from(JSON.stringify(contacts)),
): Promise<readonly SendAnswer[]> {
  const body = typeof answer === 'string' ? answer : JSON.stringify(answer);
  const head = `HTTP/1.1 ${status} X\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
  const { url } = await tcpAnswers((socket) => socket.end(head + body));
  const client = openClient(url);
  const options = { deadlineMs: 5_000 };
  return [
    await client.send({ ...frame, contacts }, tokensOf(), options),
    await client.sendBytes(frame, bytes, tokensOf(), options),
  ];
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
/** Each byte as two digits with this before it. */
const hexBytes = (text: string, before: string): string =>
  [...Buffer.from(text)].map((byte) => before + byte.toString(16).padStart(2, '0')).join('');
const escaped = (text: string): string =>
  text.replaceAll(
    /[^\p{ASCII}]/gu,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

it.each([
  ['JSON', { code: 'OK', message: `sent to ${NAME}`, traceId: 'req-1' }, 'req-1'],
  ['a value as its code', { code: 'Kx7-Wq', message: 'ok', traceId: 'req-1' }, 'req-1'],
  ['plain text', 'we sent it to somewhere', undefined],
])('an answer that accepts keeps no text: %s', async (_name, body, traceId) => {
  for (const { status, code, message, ...kept } of await answering(200, body)) {
    expect([status, code, message, kept.traceId]).toEqual([200, undefined, undefined, traceId]);
  }
});

describe('a message never contains a value that was sent', () => {
  it.each([
    ['a name', `no such person: ${NAME}님`, 'no such person: ***님'],
    ['a variable', `var1 is ${ORDER}!`, 'var1 is ***!'],
    ['in capitals', `var1 is ${ORDER.toUpperCase()}`, 'var1 is ***'],
    ['a long one, cut off', `too long: ${LONG.slice(0, 39)}...`, 'too long: ***...'],
    ['a short one, as a word', 'ab is not about', '*** is not about'],
    ['a short one before another script', 'ab님은 없습니다', '***님은 없습니다'],
    ['the template is named', 'no template ORDER_SHIPPED', 'no template ORDER_SHIPPED'],
    ['a number with wide separators', 'bad 010 - 9876 - 5432', 'bad ***'],
    ['a number in words', 'bad 010 then 9876 then 5432', '***'],
    ['URL-encoded', `name=${encodeURIComponent(NAME)}`, '***'],
    ['JSON-escaped', `body was {"name":"${escaped(NAME)}"}`, '***'],
    ['HTML-escaped', 'name &#54861;&#44600;&#46041;', '***'],
    ['base64', `got ${base64(`{"name":"${NAME}"}`)}`, '***'],
    ['base64 twice', `got ${base64(base64(ORDER))}`, '***'],
    ['hex', `got ${Buffer.from(ORDER).toString('hex')}`, '***'],
    ['base64 in a path', `got /u/${base64(NUMBER)}`, '***'],
    ['base64 in a name', `got user_${base64(NUMBER)}`, '***'],
    ['URL-encoded in EUC-KR, with %AB', 'name=%C8%AB%B1%E6%B5%BF', '***'],
    ['as bytes with escapes', String.raw`name b'\xed\x99\x8d\xea\xb8\xb8\xeb\x8f\x99'`, '***'],
    ['a number as bytes with escapes', `bad ${hexBytes(NUMBER, String.raw`\x`)}`, '***'],
    ['quoted-printable', `name ${hexBytes(NAME, '=')}`, '***'],
    ['with escapes in braces', String.raw`name \u{d64d}\u{ae38}\u{b3d9}`, '***'],
    ['with escapes of old scripts', 'name %uD64D%uAE38%uB3D9', '***'],
    ['full-width', 'got Ｏｒｄｅｒ－Ｋｘ７－Ｗｑ', 'got ***'],
    ['letters apart', 'got O r d e r - K x 7 - W q', 'got ***'],
    ['its end only', `too long: ${LONG.slice(-30).trim()}`, 'too long: ***.'],
    ['its middle only', `got ${LONG.slice(20, 30)}`, 'got ***'],
    ['without blanks', `got ${LONG.replaceAll(' ', '')}`, 'got ***.'],
    ['glued to other words', `gotOrderKx7Wqhere`, 'got***here'],
    ['base64 that is cut', `got ${base64(LONG).slice(3, 40)}`, '***'],
    ['base64 of a name that is cut', `got ${base64(`${NAME}님께`).slice(0, 18)}`, '***'],
    ['hex of its end', `got ${Buffer.from(ORDER).toString('hex').slice(5)}`, '***'],
  ])('%s', async (_name, message, expected) => {
    for (const answer of await answering(400, { message })) expect(answer.message).toBe(expected);
    for (const answer of await answering(200, { success: false, message })) {
      expect(answer.message).toBe(expected);
    }
  });
});

describe('a code or trace id never contains one', () => {
  const SIX = [
    'BAD_109876',
    'BAD_765432',
    'X-98.76-54',
    'E1_0_9_8_7_6',
    'CONTACT-01098-REJECTED-7',
  ];

  it.each<[string, string]>([
    ...SIX.map((text): [string, string] => ['six digits of a number', text]),
    ['a number', `BAD${NUMBER}`],
    ['a number with separators', 'INVALID_010-9876-5432'],
    ['a number behind a hexadecimal digit', `c${NUMBER}`],
    ['the same with separators', 'c010-9876-5432'],
    ['another number', 'BAD01011112222'],
    ['another one behind a hexadecimal digit', 'c01011112222'],
    ['a number in a long id', 'id-0109.8765-432-0abcdef0abcdef0'],
    ['a variable', `X_${ORDER}`],
    ['a variable in other letters', 'X_order_kx7_wq'],
    ['base64 of the number', base64(NUMBER)],
    ['base64 of a part of it', base64(`id=${NUMBER.slice(2)}&a`)],
    ['base64 behind other letters', `tr-${base64(NUMBER)}`],
    ['base64url of a name', Buffer.from(NAME).toString('base64url')],
    ['base64 of a variable', base64(ORDER)],
    ['base64 of base64', base64(base64(NUMBER))],
    ['hex of the number', Buffer.from(NUMBER).toString('hex')],
    ['hex of it in a UUID', '30313039-3837-3635-3433-320000000000'],
    ['hex of a name', Buffer.from(`${NAME}님께`).toString('hex')],
    ['hex of a part of a text', Buffer.from(LONG.slice(5, 20)).toString('hex')],
    ['a text without blanks', LONG.replaceAll(/\W/g, '').slice(3, 30)],
    ['our token', FIRST.value],
    ['a part of our token', FIRST.value.slice(3, 20)],
    ['our token in base64', base64(FIRST.value)],
    ['our token in hex', Buffer.from(FIRST.value).toString('hex')],
    ['a part of our token in base64', base64(FIRST.value).slice(5, 30)],
    ['our secret key in hex', Buffer.from(CANARY.secretKey).toString('hex')],
  ])('%s: %s', async (_name, echo) => {
    const text = echo.replaceAll('=', '');
    for (const status of [200, 400, 401]) {
      for (const answer of await answering(status, { code: text, traceId: text })) {
        expect(answer.status).toBe(status);
        expect(answer).not.toHaveProperty('code');
        expect(answer).not.toHaveProperty('traceId');
        expect(JSON.stringify(answer.refused)).not.toContain(text);
      }
    }
  });

  it.each([
    ['five digits of one', 'BAD_98765', 't-123.456'],
    ['six digits of none', 'E-123.456', 't-123.456'],
    ['others', 'TEMPLATE_NOT_FOUND', '123e4567-e89b-12d3-a456-426614174000'],
  ])('%s are kept', async (_name, code, traceId) => {
    for (const answer of await answering(404, { code, traceId })) {
      expect(answer).toMatchObject({ code, traceId });
    }
  });
});

it('a documented code is kept, whatever was sent', async () => {
  const code = 'INVALID_ACCESS_KEY';
  const notice = { ...NOTICE, contacts: [{ contact: NUMBER, var1: code }] };
  for (const answer of await answering(401, { code }, notice)) expect(answer.code).toBe(code);
});

it('contacts that cannot be read hide all text of a refusal', async () => {
  const body = { code: 'SOME_CODE', message: 'bad contact' };
  const [, answer] = await answering(400, body, NOTICE, Buffer.from('[no JSON'));
  expect(answer).toMatchObject({ status: 400 });
  expect(answer).not.toHaveProperty('message');
  expect(answer).not.toHaveProperty('code');
});
