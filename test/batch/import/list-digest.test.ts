import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import {
  HEAD_CONTACTS,
  ListDigest,
  readHead,
  type ListHead,
} from '../../../src/batch/import/list-digest.ts';
import { readContacts } from '../../../src/batch/source/read-contacts.ts';
import { readCsv } from '../../../src/batch/source/read-csv.ts';
import { FieldChoice } from '../../../src/batch/source/sent-columns.ts';
import { csvList } from '../support/csv-list.ts';

const CSV = { delimiter: ',', header: true, passThrough: false } as const;

async function headOf(text: string, options: object = {}, frame = 'f'): Promise<ListHead> {
  const { rows } = await readCsv(Readable.from([Buffer.from(text)]), { ...CSV, ...options });
  return must(await readHead(rows, new ListDigest(frame, 's'), undefined));
}

async function headOfObjects(contacts: readonly object[]): Promise<ListHead> {
  const choice = new FieldChoice(undefined, false);
  const { rows } = readContacts(contacts as { contact: string }[], choice);
  return must(await readHead(rows, new ListDigest('f', 's'), undefined));
}

function must(head: ListHead | undefined): ListHead {
  if (head === undefined) throw new Error('the list has no rows');
  return head;
}

const identityOf = async (...args: Parameters<typeof headOf>) => (await headOf(...args)).identity;

describe('the identity of a list', () => {
  const list = 'contact,var1,var10,var2\n01000000101,a,"b,c",d\n01000000102,e,f,g\n';

  it.each([
    [
      'other columns first',
      'var10,var2,contact,var1\n"b,c",d,01000000101,a\nf,g,01000000102,e\n',
      {},
    ],
    [
      'other titles',
      'p,a,b,c\n01000000101,a,"b,c",d\n01000000102,e,f,g\n',
      { map: { contact: 'p', var1: 'a', var10: 'b', var2: 'c' } },
    ],
    [
      'another delimiter',
      'contact;var1;var10;var2\n01000000101;a;b,c;d\n01000000102;e;f;g\n',
      { delimiter: ';' },
    ],
    [
      'quotes, CRLF, separators',
      list.replaceAll('\n', '\r\n').replace('01000000102', '"010-0000-0102"'),
      {},
    ],
    [
      'a column that is not sent',
      list.replaceAll(/\n(?=.)/g, '\nx,').replace('contact', 'mail,contact'),
      {},
    ],
    ['a row that is refused', `${list}+82,x,y,z\n`, {}],
  ])('does not depend on %s', async (_, text, options) => {
    expect(await identityOf(text, options)).toBe(await identityOf(list));
  });

  it('is the same for objects', async () => {
    const objects = [
      { var2: 'd', var10: 'b,c', contact: '01000000101', var1: 'a', mail: 'x' },
      { contact: '01000000102', var1: 'e', var2: 'g', var10: 'f' },
    ];
    expect((await headOfObjects(objects)).identity).toBe(await identityOf(list));
  });

  it.each([
    ['another number', list.replace('01000000102', '01000000103')],
    ['another value', list.replace('e,f', 'e,x')],
    [
      'another order of rows',
      'contact,var1,var10,var2\n01000000102,e,f,g\n01000000101,a,"b,c",d\n',
    ],
    ['one row more', `${list}01000000103,,,\n`],
    ['a repeated row', `${list}01000000101,a,"b,c",d\n`],
  ])('differs for %s', async (_, text) => {
    expect(await identityOf(text)).not.toBe(await identityOf(list));
  });

  it('differs for another template', async () => {
    expect(await identityOf(list, {}, 'g')).not.toBe(await identityOf(list, {}, 'f'));
  });

  it('of a long list is that of its head, wherever the pieces of the text end', async () => {
    const one = await headOf(csvList(HEAD_CONTACTS + 500));
    const other = await headOf(csvList(HEAD_CONTACTS + 900).replace(',홍0\n', ',"홍0"\n'));
    expect([one.complete, other.complete]).toEqual([false, false]);
    expect(one.identity).toBe(other.identity);
    const whole = await headOf(csvList(HEAD_CONTACTS - 1));
    expect(whole).toMatchObject({ complete: true, contacts: HEAD_CONTACTS - 1 });
    expect(whole.identity).not.toBe(one.identity);
  });

  const refused = `+82${'1'.repeat(99)},x\n`.repeat(85_000);

  it('of a list that begins with one contact and 8 MiB of refused rows is that of the contact', async () => {
    const text = `contact,var1\n01000000101,a\n${refused}${csvList(50).slice(13)}`;
    const whole = await headOf(text);
    expect(whole).toMatchObject({ complete: false, contacts: 1 });
    const pieces = Array.from({ length: Math.ceil(text.length / 50_000) }, (_, piece) =>
      Buffer.from(text.slice(piece * 50_000, piece * 50_000 + 50_000)),
    );
    const { rows } = await readCsv(Readable.from(pieces), CSV);
    const inPieces = must(await readHead(rows, new ListDigest('f', 's'), undefined));
    expect(inPieces).toMatchObject({ identity: whole.identity, contacts: 1 });
  });

  it('of a list that begins with 8 MiB of refused rows and no contact is refused', async () => {
    await expect(headOf(`contact,var1\n${refused}${csvList(50).slice(13)}`)).rejects.toThrow(
      /^The first [0-9,]+ rows are all rejected: line 2: expected the national format, got a plus sign/,
    );
    // Short lists without a contact have nothing that could be sent twice.
    expect(await headOf('contact,var1\n+82,x\n')).toMatchObject({ complete: true, contacts: 0 });
  });
});
