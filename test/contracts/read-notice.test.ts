import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { InputError, type InputIssue } from '../../src/contracts/errors.ts';
import { readNotice } from '../../src/contracts/notice.ts';
import type { Contact, Notice, NoticeQueue, Notices } from '../../src/index.ts';

const CONTACT = { contact: '01012345678' };
const NOTICE = { templateCode: 'T', contacts: [CONTACT] };

function issuesOf(input: unknown, place?: string): readonly InputIssue[] {
  try {
    readNotice(input, place);
  } catch (error) {
    if (error instanceof InputError) return error.issues;
    throw error;
  }
  return [];
}

/** The fields that are named. */
const fieldsOf = (input: unknown) => issuesOf(input).map(({ field }) => field);

const circle: Record<string, unknown> = {};
circle['self'] = circle;

describe('readNotice refuses, and names the field:', () => {
  // service-api, Send request body: templateCode, scheduleType, chatSenderKey, senderKey, contacts.
  const texts = ['templateCode', 'scheduleType', 'chatSenderKey', 'senderKey'].flatMap((field) =>
    [7, null, true, {}, [], '', '   ', 'x'.repeat(201)].map((value) => ({ field, value })),
  );
  it.each(texts)('$field = $value', ({ field, value }) => {
    const issues = issuesOf({ ...NOTICE, [field]: value });
    expect(issues).toEqual([{ field, problem: expect.stringMatching(/^expected /) as string }]);
  });

  it.each([
    { field: 'templateCode', input: { contacts: [CONTACT] } },
    { field: 'contacts', input: { templateCode: 'T' } },
    { field: 'contacts', input: { ...NOTICE, contacts: [] } },
    { field: 'contacts', input: { ...NOTICE, contacts: '01012345678' } },
    { field: 'contacts', input: { ...NOTICE, contacts: CONTACT } },
    { field: 'contacts', input: { ...NOTICE, contacts: null } },
    { field: 'notice', input: undefined },
    { field: 'notice', input: null },
    { field: 'notice', input: 'T' },
    { field: 'notice', input: 7 },
    { field: 'notice', input: [NOTICE] },
  ])('$field in $input', ({ field, input }) => {
    expect(fieldsOf(input)).toEqual([field]);
  });

  // service-api, Contact object: digits only, in the national format.
  const numbers = [
    ['', '010-1234-5678', '+821012345678', ' 01012345678', '01012345678\n', 'abc', '0'.repeat(21)],
    [1_012_345_678, -1, null, undefined, true, {}, [], ['01012345678'], '０１０'],
  ].flat();
  it.each(numbers.map((value) => ({ value })))('a phone number $value', ({ value }) => {
    const [issue, ...others] = issuesOf({ ...NOTICE, contacts: [CONTACT, { contact: value }] });
    expect(others).toEqual([]);
    expect(issue?.field).toBe('contacts[1].contact');
    expect(issue?.problem).toMatch(/^expected a phone number/);
  });

  it.each([null, undefined, 7, '01012345678', [CONTACT], true])('a contact %s', (value) => {
    const issues = issuesOf({ ...NOTICE, contacts: [CONTACT, CONTACT, CONTACT, value] });
    expect(issues).toEqual([{ field: 'contacts[3]', problem: 'expected a contact object' }]);
  });

  it('a hole in the list', () => {
    // oxlint-disable-next-line no-sparse-arrays -- a hole is what is tested
    const list = [CONTACT, , CONTACT];
    expect(fieldsOf({ ...NOTICE, contacts: list })).toEqual(['contacts[1]']);
  });

  it.each([
    { field: 'var1', value: 1 },
    { field: 'var2', value: null },
    { field: 'var12', value: { a: 1 } },
    { field: 'var1', value: 'x'.repeat(4_097) },
  ])('$field = $value', ({ field, value }) => {
    const contact = { ...CONTACT, [field]: value };
    const issues = issuesOf({ ...NOTICE, contacts: [contact] });
    expect(issues.map((issue) => issue.field)).toEqual([`contacts[0].${field}`]);
  });

  it.each([
    { what: 'not a number', value: Number.NaN },
    { what: 'an infinity', value: { deep: [Infinity] } },
    { what: 'a bigint', value: 10n },
    { what: 'a function', value: () => 1 },
    { what: 'a symbol', value: Symbol('s') },
    { what: 'a date', value: new Date(0) },
    { what: 'a map', value: new Map([['a', 1]]) },
    { what: 'bytes', value: Buffer.from('a') },
    { what: 'an object of a class', value: new Error('thing') },
    { what: 'undefined in a list', value: [1, undefined] },
    { what: 'a circle', value: circle },
  ])('an unknown field with $what, which JSON would change', ({ value }) => {
    const inFields = (fields: object) => issuesOf({ ...NOTICE, fields })[0]?.field;
    expect(inFields({ '01012345678': value })).toBe('(not shown)');
    expect(inFields({ extra: value })).toBe('extra');
    const contact = { ...CONTACT, fields: { extra: value } };
    expect(fieldsOf({ ...NOTICE, contacts: [contact] })).toEqual(['contacts[0].extra']);
  });

  it('everything at once, up to a bound, under the place it is given', () => {
    const bad = { templateCode: '', extra: 1, contacts: [{ contact: 'x', more: 1 }, CONTACT, {}] };
    expect(issuesOf(bad, 'notices[4]').map(({ field }) => field)).toEqual([
      'notices[4].extra',
      'notices[4].contacts[0].more',
      'notices[4].templateCode',
      'notices[4].contacts[0].contact',
      'notices[4].contacts[2].contact',
    ]);
    const many = issuesOf({ ...NOTICE, contacts: Array.from({ length: 1_000 }, () => ({})) });
    expect(many).toHaveLength(21);
    expect(many.at(-1)?.problem).toBe('and 980 more');
  });

  it('without ever showing a value', () => {
    const contact = { contact: '010-9999-8888', var1: { secret: 'CANARY' }, more: 'CANARY' };
    const input = {
      templateCode: ['CANARY'],
      extra: 'CANARY',
      contacts: [contact],
      fields: { extra: ['CANARY', 1n] },
    };
    expect(JSON.stringify(issuesOf(input))).not.toMatch(/9999|8888|CANARY/);
  });
});

describe('readNotice passes on', () => {
  it('what is right, with scheduleType filled in (service-api, Send request body)', () => {
    expect(readNotice(NOTICE)).toEqual({ ...NOTICE, scheduleType: 'DIRECTLY' });
    const all = { ...NOTICE, scheduleType: 'SCHEDULED', chatSenderKey: 'c', senderKey: 's' };
    expect(readNotice(all)).toEqual(all);
    const bounds = { templateCode: 'x'.repeat(200), contacts: [{ contact: '0'.repeat(20) }] };
    expect(issuesOf(bounds)).toEqual([]);
    expect(issuesOf({ ...NOTICE, senderKey: undefined })).toEqual([]);
  });

  it('unknown fields as they are, nested ones, empty ones and an own __proto__ too', () => {
    const own = '"at":"2030-01-01 00:00:00"';
    const fields =
      '"n":0.1,"f":false,"deep":{"":null,"list":[1,[],{}],"__proto__":{"polluted":1}},"__proto__":{"x":[1]}';
    const name = '"contact":"0101","name":"김철수 \\"<&>\\"","var1":""';
    const passing = '"constructor":"c","var0":7,"__proto__":"p","extra":{"a":{"b":[null]}}';
    const given = `{${own},"fields":{${fields}},"contacts":[{${name},"fields":{${passing}}}],"templateCode":"T"}`;
    const copy = readNotice(JSON.parse(given));
    expect(JSON.stringify(copy)).toBe(
      `{${own},"contacts":[{${name},${passing}}],"templateCode":"T",${fields},"scheduleType":"DIRECTLY"}`,
    );
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('a copy: what the caller changes later changes nothing', () => {
    const tags = ['a'];
    const deep = { list: [1] };
    const contacts = [{ ...CONTACT, fields: { tags } }];
    const input = { ...NOTICE, fields: { deep }, contacts };
    const copy = readNotice(input);
    const before = JSON.stringify(copy);
    deep.list.push(2);
    tags.push('b');
    contacts.push({ contact: '9', fields: { tags } });
    for (const contact of input.contacts) contact.contact = '9';
    expect(JSON.stringify(copy)).toBe(before);
  });

  it('objects of another realm and without a prototype', () => {
    const foreign: unknown = runInNewContext(
      `({ templateCode: 'T', contacts: [{ contact: '010', fields: { a: [{ b: 1 }] } }], fields: { extra: {} } })`,
    );
    expect(issuesOf(foreign)).toEqual([]);
    const bare = Object.assign(Object.create(null) as object, NOTICE);
    expect(issuesOf(bare)).toEqual([]);
  });
});

describe('a field that is not known', () => {
  it.each(['senderKye', 'TemplateCode', 'var1'])('%s of a notice is refused', (name) => {
    const problem = expect.stringMatching(/^unknown field: .*`fields`/) as string;
    expect(issuesOf({ ...NOTICE, [name]: 'x' })).toEqual([{ field: name, problem }]);
  });

  it.each(['Contact', 'var0', 'var01', 'Var1', 'vra1'])('%s of a contact is refused', (name) => {
    expect(fieldsOf({ ...NOTICE, contacts: [CONTACT, { ...CONTACT, [name]: 'x' }] })).toEqual([
      `contacts[1].${name}`,
    ]);
  });

  it('is none when it is undefined, like any other', () => {
    const contact: Contact = { ...CONTACT, name: undefined, var1: undefined };
    const given = { ...NOTICE, senderKye: undefined, at: undefined, contacts: [contact] };
    expect(readNotice(given)).toStrictEqual({ ...NOTICE, scheduleType: 'DIRECTLY' });
  });

  it('passes under `fields`, and stands beside the others then', () => {
    const contact = { ...CONTACT, fields: { group: ['a'], var21: 'x' } };
    const given = { ...NOTICE, contacts: [contact], fields: { campaign: { id: 7 } } };
    expect(readNotice(given)).toEqual({
      templateCode: 'T',
      scheduleType: 'DIRECTLY',
      campaign: { id: 7 },
      contacts: [{ ...CONTACT, group: ['a'], var21: 'x' }],
    });
  });

  it.each([
    ['not an object', { fields: 'x' }, 'fields'],
    ['null', { fields: null }, 'fields'],
    ['a field that is given beside it', { fields: { templateCode: 'U' } }, 'fields.templateCode'],
    ['contacts that are given beside it', { fields: { contacts: [CONTACT] } }, 'fields.contacts'],
    ['no JSON', { fields: { extra: 1n } }, 'extra'],
  ])('is refused under `fields`: %s', (_, more, field) => {
    expect(fieldsOf({ ...NOTICE, ...more })).toEqual([field]);
  });
});

it('knows the fields that were seen at the service', () => {
  const seen = { at: '2027-03-01 09:00:00', replaceSms: 'Y', smsSubject: 's', smsContent: 'c' };
  const given = { ...NOTICE, ...seen, contacts: [{ ...CONTACT, name: 'Kim', var21: 'x' }] };
  expect(readNotice(given)).toMatchObject(given);
  expect(fieldsOf({ ...NOTICE, at: new Date(0) })).toEqual(['at']);
});

it('takes an instance of a class', () => {
  class Customer {
    contact = '01012345678';
    var1 = 'Kim';
    describe(): string {
      return this.var1;
    }
  }
  expect(readNotice({ ...NOTICE, contacts: [new Customer()] }).contacts).toEqual([
    { contact: '01012345678', var1: 'Kim' },
  ]);
});

/** Compiled, not run: `tsc` fails where a line stops being an error. */
export async function types(
  notices: Notices,
  known: NoticeQueue<{ SHIPPED: { var1: string }; SALE: object }>,
): Promise<void> {
  interface Customer {
    readonly contact: string;
    readonly var1: string;
  }
  const customers: readonly Customer[] = [{ contact: '0101', var1: 'Kim' }];
  const contacts: readonly Contact[] = customers;
  const notice: Notice = { templateCode: 'T', contacts };
  await notices.send(notice);
  await notices.import(customers, { templateCode: 'T' });
  // @ts-expect-error -- misspelt
  await notices.send({ templateCode: 'T', senderKye: 'k', contacts });
  // @ts-expect-error -- misspelt
  await notices.send({ templateCode: 'T', contacts: [{ contact: '0101', vra1: 'Kim' }] });
  // @ts-expect-error -- a number is text
  await notices.send({ templateCode: 'T', contacts: [{ contact: 1 }] });

  await known.send({ templateCode: 'SHIPPED', contacts: customers });
  await known.send({ templateCode: 'SALE', contacts: [{ contact: '0101' }] });
  // @ts-expect-error -- no such template
  await known.send({ templateCode: 'SHIPED', contacts: customers });
  // @ts-expect-error -- a variable is missing
  await known.send({ templateCode: 'SHIPPED', contacts: [{ contact: '0101' }] });
  // @ts-expect-error -- the template has no such variable
  await known.send({ templateCode: 'SALE', contacts: [{ contact: '0101', var2: 'x' }] });
  await known.import(customers, { templateCode: 'SALE' });
  // @ts-expect-error -- no such template
  await known.import(customers, { templateCode: 'SALES' });
  // What takes any template takes a queue with known ones.
  const any: Notices = known;
  await any.close();
}
