import { describe, expect, it } from 'vitest';
import { AnswerMask, piecesOfSecrets } from '../../../src/service/response/mask-text.ts';
import { readAnswer } from '../../../src/service/response/read-answer.ts';
import type { ReadAnswer } from '../../../src/service/response/read-answer.ts';
import type { WireFacts } from '../../../src/service/http/transport.ts';

interface Given {
  text?: string;
  bytes?: Uint8Array;
  type?: string;
  ending?: WireFacts['ending'];
}

function read({ text = '', bytes, type, ending = 'whole' }: Given): Omit<ReadAnswer, 'json'> {
  const headers = type === undefined ? {} : { 'content-type': type };
  const { json: _json, ...answer } = readAnswer(
    { headers, chunks: [bytes ?? Buffer.from(text)], ending },
    () => new AnswerMask([piecesOfSecrets(['secret-value'])]),
  );
  return answer;
}

const JSON_TYPE = 'application/json';
const KOREAN = Buffer.from([0x22, 0xb0, 0xa1, 0x22]);
const ALL = { code: 'A', message: 'm', traceId: 't-1' };
const HTML_TYPE = 'text/html; charset=utf-8';

describe('what a body looks like', () => {
  it.each<[string, Given, ReadAnswer['body']]>([
    ['nothing', {}, 'none'],
    ['blanks only', { text: ' \r\n' }, 'none'],
    ['a labelled page without content', { type: HTML_TYPE }, 'none'],
    ['an object', { text: '{"ok":1}', type: JSON_TYPE }, 'json'],
    ['an object with a byte order mark', { text: '\ufeff{"ok":1}' }, 'json'],
    ['null', { text: 'null' }, 'json'],
    ['an object that is labelled a page', { text: '{"ok":1}', type: HTML_TYPE }, 'json'],
    ['a page without a label', { text: '  <!doctype html><p>hi' }, 'html'],
    ['a page labelled JSON', { text: '<html></html>', type: JSON_TYPE }, 'html'],
    ['plain words labelled a page', { text: 'It works!', type: HTML_TYPE }, 'html'],
    ['plain words', { text: 'OK' }, 'text'],
    ['half an object', { text: '{"ok":' }, 'text'],
    ['bytes that are no UTF-8', { bytes: Buffer.from([0x7b, 0xff, 0xfe]) }, 'broken'],
    ['a charset nobody knows', { text: '{}', type: 'application/json; charset=klingon' }, 'json'],
    ['a charset that is known', { bytes: KOREAN, type: `${JSON_TYPE};charset=EUC-KR` }, 'json'],
    ['cut off', { text: '{"ok":', ending: 'broken' }, 'broken'],
    ['cut off, labelled a page', { text: '', type: HTML_TYPE, ending: 'broken' }, 'html'],
    ['an object that is cut off', { text: '{"a":', type: HTML_TYPE, ending: 'broken' }, 'broken'],
    ['too long', { text: '{"a":"aaaa', ending: 'oversized' }, 'oversized'],
    ['a page that is too long', { text: '<html>aaaa', ending: 'oversized' }, 'html'],
    ['60,000 levels deep', { text: `${'['.repeat(30_000)}${']'.repeat(30_000)}` }, 'json'],
    ['60,000 levels, never closed', { text: '['.repeat(60_000) }, 'text'],
  ])('%s', (_name, given, body) => {
    expect(read(given).body).toBe(body);
  });

  it('reads several pieces as one', () => {
    const chunks = [Buffer.from('{"code":"A'), Buffer.from('B"}')];
    const facts = { headers: undefined, chunks, ending: 'whole' } as const;
    expect(readAnswer(facts, () => new AnswerMask([]))).toMatchObject({ code: 'AB' });
  });
});

describe('code, message, traceId and success', () => {
  it.each<[string, string, object]>([
    ['at the top', JSON.stringify(ALL), ALL],
    ['a number as code', '{"code":4031}', { code: '4031' }],
    ['errorCode', '{"errorCode":"A","errorMessage":"m"}', { code: 'A', message: 'm' }],
    ['inside error', JSON.stringify({ error: ALL }), ALL],
    ['error as a code', '{"error":"bad_token"}', { code: 'bad_token', message: 'bad_token' }],
    ['error as words', '{"error":"went wrong"}', { message: 'went wrong' }],
    ['inside data', '{"data":{"code":"A","message":"m"}}', { code: 'A', message: 'm' }],
    ['inside errors', '{"errors":[{"code":"A","message":"m"}]}', { code: 'A', message: 'm' }],
    ['the top goes first', '{"code":"A","error":{"code":"B"}}', { code: 'A' }],
    ['success', '{"success":false,"code":"A"}', { success: false, code: 'A' }],
    ['success as text', '{"success":"FALSE"}', { success: false }],
    ['success of another type', '{"success":0}', {}],
    ['a code that is a sentence', '{"code":"this is no code"}', {}],
    ['another type', '{"code":{"a":1},"message":["x"],"traceId":7.5}', { traceId: '7.5' }],
    ['an endless code', `{"code":"${'A'.repeat(65)}"}`, {}],
    ['a list', '[{"code":"A"}]', {}],
    ['__proto__', '{"__proto__":{"code":"A","success":false}}', {}],
    ['names that every object has', '{"constructor":{"code":"A"}}', {}],
  ])('%s', (_name, text, fields) => {
    expect(read({ text })).toStrictEqual({ body: 'json', ...fields });
    expect(Object.hasOwn(Object.prototype, 'code')).toBe(false);
  });

  it('shows plain text as the message', () => {
    expect(read({ text: 'no such template' })).toStrictEqual({
      body: 'text',
      message: 'no such template',
    });
  });
});

describe('what foreign text may not carry', () => {
  it.each([
    ['one with separators', 'bad contact 010-9876-5432!', 'bad contact ***!'],
    ['one in brackets', 'call (02) 987 6543 now', 'call (*** now'],
    ['a secret each time', 'secret-value, again secret-value', '***, again ***'],
    ['an opaque run', `token ${'aB3-'.repeat(12)} is dead`, 'token *** is dead'],
    ['line breaks and controls', 'a\n{"l":60}\u0000\u001b[31mb\u2028c', 'a {"l":60} [31mb c'],
    ['more than 200 characters', 'ab '.repeat(100), 'ab '.repeat(67).slice(0, 200)],
  ])('%s', (_name, message, expected) => {
    expect(read({ text: JSON.stringify({ message }) }).message).toBe(expected);
  });

  it('leaves no half of a pair at the cut', () => {
    const { message } = read({ text: JSON.stringify({ message: `${'a '.repeat(99)}a😀😀😀` }) });
    expect(message).toBe(`${'a '.repeat(99)}a😀`);
  });

  it.each([
    ['code', 'INVALID_01098765432'],
    ['code', 'X_secret-value'],
    ['traceId', 'secret-value'],
  ])('drops a %s of %s', (name, value) => {
    expect(read({ text: JSON.stringify({ [name]: value }) })).toStrictEqual({ body: 'json' });
  });

  it('keeps hexadecimal trace ids, whose digits are no number', () => {
    const traceId = '5f3c1234567890ab-1a';
    expect(read({ text: JSON.stringify({ traceId }) }).traceId).toBe(traceId);
  });

  it('masks 64 kB of near misses in no time', () => {
    const message = '1 1 1 1 ( 1 1 1 1 - . '.repeat(2_900);
    const before = performance.now();
    read({ text: JSON.stringify({ message }) });
    expect(performance.now() - before).toBeLessThan(5_000);
  });
});
