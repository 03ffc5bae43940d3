import { describe, expect, it } from 'vitest';
import { readNotice } from '../../src/contracts/notice.ts';
import { checkContact } from '../../src/batch/source/check-row.ts';
import { FieldChoice } from '../../src/batch/source/sent-columns.ts';

const choice = new FieldChoice(undefined, true);

/** The same contact in a single notice: fields that are not known stand under `fields`. */
const readSingle = ({ contact, ...fields }: Readonly<Record<string, unknown>>) =>
  readNotice({ templateCode: 'T', contacts: [{ contact, fields }] });

describe.each([
  ['NUL', 'a\0b', 'U+0000'],
  ['an escape', 'a\u001b[2J', 'U+001B'],
  ['a lone surrogate', 'a\ud83d', 'U+D83D'],
])('%s is refused, in a single notice as in a list', (_name, value, shown) => {
  it.each([
    ['in a variable', { var1: value }],
    ['in another field', { city: value }],
    ['in a list below', { cities: ['x', { deep: value }] }],
  ])('%s', (_where, fields) => {
    const contact = { contact: '01000000000', ...fields };
    expect(() => readSingle(contact)).toThrow(shown);
    expect(checkContact(contact, choice)).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining(shown) as unknown,
    });
  });

  it('in a field of the notice', () => {
    const contacts = [{ contact: '01000000000' }];
    expect(() => readNotice({ templateCode: `T${value}`, contacts })).toThrow(shown);
    expect(() => readNotice({ templateCode: 'T', smsContent: value, contacts })).toThrow(shown);
  });
});

const withId = (json: string) => ({ contact: '01000000000', orderId: JSON.parse(json) as unknown });

it.each(['12345678901234567890', '-9007199254740993', '[{"id":1e16}]'])(
  'a number of JSON that may have lost digits is refused, in a single notice as in a list: %s',
  (json) => {
    const why = 'a whole number beyond 9007199254740991 loses digits';
    const contact = withId(json);
    expect(() => readSingle(contact)).toThrow(why);
    expect(checkContact(contact, choice)).toMatchObject({
      field: 'orderId',
      reason: `expected text, in quotes: ${why}`,
    });
  },
);

it.each(['9007199254740991', '12345678901.5', '-1'])('the number %s is sent as it is', (json) => {
  const contact = withId(json);
  expect(readSingle(contact).contacts).toEqual([contact]);
  expect(checkContact(contact, choice)).toMatchObject({ json: JSON.stringify(contact) });
});

it('tabs, line breaks and whole pairs are text', () => {
  const contact = { contact: '01000000000', var1: 'a\tb\r\n😀' };
  expect(readSingle(contact).contacts).toEqual([contact]);
  expect(checkContact(contact, choice)).toMatchObject({ kind: 'contact' });
});
