import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ListDigest } from '../../../src/batch/import/row-processor.ts';
import {
  HEAD_ROWS,
  readHead,
  readWhole,
  type FirstPass,
} from '../../../src/batch/import/list-pass.ts';
import { readCsv } from '../../../src/batch/source/read-csv.ts';
import { csvList } from '../support/csv-list.ts';

const CSV = { delimiter: ',', header: true, passThrough: false } as const;
const passOf = (frame = 'f') => ({
  digest: new ListDigest(frame, 's'),
  prints: undefined,
  allowDuplicates: false,
  signal: undefined,
});

async function headOf(text: string, options: object = {}, pieceSize = 1e9): Promise<FirstPass> {
  const pieces = Array.from({ length: Math.ceil(text.length / pieceSize) }, (_, piece) =>
    Buffer.from(text.slice(piece * pieceSize, (piece + 1) * pieceSize)),
  );
  return readHead(await readCsv(Readable.from(pieces), { ...CSV, ...options }), passOf());
}

async function wholeOf(text: string, frame?: string): Promise<FirstPass> {
  return readWhole(await readCsv(Readable.from([Buffer.from(text)]), CSV), passOf(frame));
}

const identityOf = async (...args: Parameters<typeof headOf>) => (await headOf(...args)).identity;

describe('the identity of a list', () => {
  const list = 'contact,var1,var10,var2\n01000000101,a,"b,c",d\n01000000102,e,f,g\n';

  const map = { contact: 'p', var1: 'a', var10: 'b', var2: 'c' };
  const reordered = 'var10,var2,contact,var1\n"b,c",d,01000000101,a\nf,g,01000000102,e\n';
  const semicolons = 'contact;var1;var10;var2\n01000000101;a;b,c;d\n01000000102;e;f;g\n';
  const spelt = list.replaceAll('\n', '\r\n').replace('01000000102', '"010-0000-0102"');
  const more = list.replaceAll(/\n(?=.)/g, '\nx,').replace('contact', 'mail,contact');

  it.each([
    ['other columns first', reordered, {}],
    ['other titles', list.replace(/^.*$/m, 'p,a,b,c'), { map }],
    ['another delimiter', semicolons, { delimiter: ';' }],
    ['quotes, CRLF, separators', spelt, {}],
    ['a column that is not sent', more, {}],
    ['a row that is refused', `${list}+82,x,y,z\n`, {}],
  ])('does not depend on %s', async (_, text, options) => {
    expect(await identityOf(text, options)).toBe(await identityOf(list));
  });

  it.each([
    ['another number', list.replace('01000000102', '01000000103')],
    ['another value', list.replace('e,f', 'e,x')],
    ['another order of rows', list.replace(/^(01.*\n)(01.*\n)/m, '$2$1')],
    ['one row more', `${list}01000000103,,,\n`],
    ['a repeated row', `${list}01000000101,a,"b,c",d\n`],
  ])('differs for %s', async (_, text) => {
    expect(await identityOf(text)).not.toBe(await identityOf(list));
  });

  it('of a long list that is read once is that of its head, wherever the pieces of the text end', async () => {
    const one = await headOf(csvList(HEAD_ROWS + 500), {}, 997);
    const other = await headOf(csvList(HEAD_ROWS + 900).replace(',홍0\n', ',"홍0"\n'));
    expect([one.isWhole, other.isWhole]).toEqual([false, false]);
    expect([one.identity, one.contacts]).toEqual([other.identity, HEAD_ROWS]);
    const short = csvList(HEAD_ROWS - 1);
    const { identity } = await wholeOf(short);
    expect(await headOf(short)).toMatchObject({ isWhole: true, identity });
  });

  it.each([
    ['refused', '+82', 'x'.repeat(900_000), 10, 12],
    ['long, with four variables of 4,000 bytes', '', `${'x'.repeat(4_000)},`.repeat(4), 524, 600],
  ])(
    'of rows that are %s is that of eight megabytes of them',
    async (_, number, rest, most, count) => {
      const rows = Array.from({ length: count }, (_row, row) => {
        const contact = number || `010${10_000_000 + row}`;
        return `${contact},${number === '' ? rest.slice(0, -1) : `${rest},,,`}\n`;
      });
      const text = `contact,var1,var2,var3,var4\n01000000001,a,b,c,d\n${rows.join('')}`;
      const one = await headOf(text, {}, 65_537);
      const other = await headOf(text + text.slice(text.indexOf('\n') + 1));
      expect([one.isWhole, other.isWhole, one.identity]).toEqual([false, false, other.identity]);
      expect(one.contacts).toBe(number === '' ? most : 1);
      const kept = one.parts.reduce(
        (sum, part) => sum + ('block' in part ? part.to - part.from : 1),
        0,
      );
      expect(kept).toBeLessThan(count);
    },
  );

  it('of one that begins with refused rows alone is refused, unless it is read twice', async () => {
    const text = `contact,var1\n${'+82,x\n'.repeat(HEAD_ROWS)}${csvList(50).slice(13)}`;
    await expect(headOf(text)).rejects.toThrow(
      /^The first [0-9,]+ rows are all rejected: row 2: expected the national format, got a plus sign/,
    );
    expect(await wholeOf(text)).toMatchObject({ isWhole: true, contacts: 50 });
    await expect(headOf('contact,var1\n+82,x\n')).rejects.toThrow(
      /^The rows of the list are all rejected: row 2: /,
    );
  });
});
