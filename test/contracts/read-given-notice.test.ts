import { describe, expect, it } from 'vitest';
import { InputError } from '../../src/contracts/errors.ts';
import { readNotice } from '../../src/contracts/notice.ts';
import type { Contact, Notice, NoticeQueue, Notices } from '../../src/index.ts';

const CONTACT = { contact: '01012345678' };
const NOTICE = { templateCode: 'T', contacts: [CONTACT] };

function problemsOf(input: unknown, place?: string): Readonly<Record<string, string>> {
  try {
    readNotice(input, place);
    return {};
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return Object.fromEntries(error.issues.map(({ field, problem }) => [field, problem]));
  }
}

describe('a field that is not known', () => {
  it.each(['senderKye', 'TemplateCode', 'var1'])('%s of a notice is refused', (name) => {
    expect(problemsOf({ ...NOTICE, [name]: 'x' })[name]).toMatch(/^unknown field: .*`fields`/);
  });

  it.each(['Contact', 'var0', 'var01', 'Var1', 'vra1'])('%s of a contact is refused', (name) => {
    const problems = problemsOf({ ...NOTICE, contacts: [CONTACT, { ...CONTACT, [name]: 'x' }] });
    expect(Object.keys(problems)).toEqual([`contacts[1].${name}`]);
  });

  it('is none when it is undefined, like any other', () => {
    const contact: Contact = { ...CONTACT, name: undefined, var1: undefined };
    const given = { ...NOTICE, senderKye: undefined, at: undefined, contacts: [contact] };
    expect(readNotice(given)).toStrictEqual({ ...NOTICE, scheduleType: 'DIRECTLY' });
  });

  it('is named with all other problems, under the place, and without its value', () => {
    const bad = { templateCode: '', extra: 'CANARY', contacts: [{ contact: 'x', more: 1 }] };
    const problems = problemsOf(bad, 'notices[2]');
    expect(Object.keys(problems).toSorted()).toEqual([
      'notices[2].contacts[0].contact',
      'notices[2].contacts[0].more',
      'notices[2].extra',
      'notices[2].templateCode',
    ]);
    expect(JSON.stringify(problems)).not.toContain('CANARY');
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
    expect(Object.keys(problemsOf({ ...NOTICE, ...more }))).toEqual([field]);
  });
});

it('knows the fields that were seen at the service', () => {
  const seen = { at: '2027-03-01 09:00:00', replaceSms: 'Y', smsSubject: 's', smsContent: 'c' };
  const given = { ...NOTICE, ...seen, contacts: [{ ...CONTACT, name: 'Kim', var21: 'x' }] };
  expect(readNotice(given)).toMatchObject(given);
  expect(Object.keys(problemsOf({ ...NOTICE, at: new Date(0) }))).toEqual(['at']);
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
