import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import * as fc from 'fast-check';
import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { readUtf8, type Encoding } from '../../../src/batch/source/read-utf8.ts';
import { piecesOf } from '../support/pieces.ts';

async function read(
  bytes: Buffer,
  sizes: readonly number[],
  encoding: Encoding = 'utf-8',
): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for await (const piece of readUtf8(Readable.from(piecesOf(bytes, sizes)), encoding))
    pieces.push(piece);
  return pieces;
}

const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 });

describe('the text of a list', () => {
  it('comes as it is, in whole characters, however its bytes were cut', async () => {
    const text = fc.array(fc.constantFrom('a', 'é', '가', '😀', '\n', '\u0800', '\uffff'));
    await fc.assert(
      fc.asyncProperty(text, fc.boolean(), sizes, async (parts, marked, at) => {
        const bytes = Buffer.from(`xxxx${parts.join('')}`);
        const pieces = await read(marked ? Buffer.from(`\ufeff${bytes.toString()}`) : bytes, at);
        expect(Buffer.concat(pieces)).toStrictEqual(bytes);
        expect(pieces.every((piece) => piece.length > 0 && isUtf8(piece))).toBe(true);
      }),
    );
  });

  it('is refused where a byte is not UTF-8, and only there', async () => {
    const some = fc.constantFrom(0x61, 0x0a, 0x80, 0xbf, 0xc2, 0xe0, 0xea, 0xed, 0xf0, 0xf4, 0xff);
    await fc.assert(
      fc.asyncProperty(fc.array(some, { maxLength: 12 }), sizes, async (codes, at) => {
        const bytes = Buffer.from([...Buffer.from('xxxx'), ...codes]);
        const refused = await read(bytes, at).then(
          () => false,
          (error: unknown) => /is not valid UTF-8/.test(String(error)),
        );
        expect(refused).toBe(!isUtf8(bytes));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['a\nb\nc\xff', 3],
    ['abcd\xc2', 1],
    ['가나\n다\xff', 2],
  ])('names the line: %j', async (text, line) => {
    const bytes = Buffer.concat(
      Array.from(text, (one) =>
        one.charCodeAt(0) < 0x100 ? Buffer.from(one, 'latin1') : Buffer.from(one),
      ),
    );
    for (const size of [1, 2, 3, 100]) {
      await expect(read(bytes, [size])).rejects.toThrow(`Line ${line}: a byte`);
    }
  });

  it.each(['cp949', 'utf16le', 'utf16be'])(
    'of %s comes as it was, however its bytes were cut',
    async (name) => {
      const parts = [...Array.from('aA가똠방\n'), ...(name === 'cp949' ? [] : ['😀', '\ufeff'])];
      await fc.assert(
        fc.asyncProperty(fc.array(fc.constantFrom(...parts)), sizes, async (some, at) => {
          const text = `xx${some.join('')}`;
          const bytes = iconv.encode(text, name, { addBOM: name !== 'cp949' });
          const pieces = await read(bytes, at, 'euc-kr');
          expect(Buffer.concat(pieces).toString()).toBe(text);
          expect(pieces.every((piece) => piece.length > 0 && isUtf8(piece))).toBe(true);
        }),
      );
    },
  );

  it('of EUC-KR: names the line, however its bytes were cut', async () => {
    const good = iconv.encode(`contact,var1\n${'01012345678,똠방가\n'.repeat(20)}가나`, 'cp949');
    // No character of CP949 ends with this byte.
    const bytes = Buffer.concat([good, Buffer.from([0xb0, 0xff]), Buffer.from('다\n')]);
    for (let size = 4; size < 120; size++) {
      await expect(read(bytes, [size], 'euc-kr')).rejects.toThrow('Line 22: a byte');
    }
    await expect(read(good.subarray(0, -1), [7], 'euc-kr')).rejects.toThrow('Line 22: a byte');
  });

  it('is UTF-8 if it begins with its byte order mark, whatever the option says', async () => {
    const text = 'contact,var1\n01000000101,"고객"\n';
    expect(
      Buffer.concat(await read(Buffer.from(`\ufeff${text}`), [100], 'euc-kr')).toString(),
    ).toBe(text);
  });
});
