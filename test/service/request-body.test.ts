import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Notice } from '../../src/contracts/notice.ts';
import { requestBody } from '../../src/service/request-body.ts';

const PLAIN = { chatSenderKeyField: 'chatSenderKey' };
const RENAMED = { chatSenderKeyField: 'wireSenderKey' };
const contacts = [{ contact: '01012345678', var1: '홍길동', name: '"\u2028' }];
const notice = (more: object = {}): Notice => ({ templateCode: 'T', ...more, contacts });

describe('the body of a send request', () => {
  it('passes any unknown field through, in its place', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (fields) => {
        const text = JSON.stringify({ templateCode: 'T', ...fields, contacts });
        const given = JSON.parse(text) as Notice;
        expect(requestBody(given, PLAIN)).toBe(JSON.stringify(given));
      }),
    );
  });

  it('passes __proto__ through as a name like any other', () => {
    const text =
      '{"templateCode":"T","__proto__":{"polluted":1},"contacts":[{"contact":"1","__proto__":2}]}';
    expect(requestBody(JSON.parse(text) as Notice, PLAIN)).toBe(text);
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  it('gives chatSenderKey its name on the wire, in its place, whatever its value', () => {
    for (const chatSenderKey of ['K', null, '', false]) {
      const given = JSON.parse(JSON.stringify(notice({ chatSenderKey, extra: 1 }))) as Notice;
      expect(requestBody(given, RENAMED)).toBe(
        `{"templateCode":"T","wireSenderKey":${JSON.stringify(chatSenderKey)},"extra":1,"contacts":${JSON.stringify(contacts)}}`,
      );
    }
  });

  it('fills in default sender keys where the notice names none', () => {
    const settings = { ...RENAMED, defaultChatSenderKey: 'DC', defaultSenderKey: 'DS' };
    expect(JSON.parse(requestBody(notice(), settings))).toStrictEqual({
      ...notice(),
      wireSenderKey: 'DC',
      senderKey: 'DS',
    });
    const named = notice({ chatSenderKey: 'C', senderKey: 'S' });
    expect(JSON.parse(requestBody(named, settings))).toStrictEqual({
      ...notice(),
      wireSenderKey: 'C',
      senderKey: 'S',
    });
  });

  it('never writes the wire name twice', () => {
    const settings = { ...RENAMED, defaultChatSenderKey: 'DC' };
    expect(
      requestBody(notice({ wireSenderKey: 'W' }), settings).match(/wireSenderKey/g),
    ).toHaveLength(1);
    const both = requestBody(notice({ wireSenderKey: 'W', chatSenderKey: 'C' }), settings);
    expect(both).toContain('"wireSenderKey":"C"');
    expect(both).not.toContain('"W"');
  });
});
