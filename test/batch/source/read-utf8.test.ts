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

  const korean = '이름,휴대폰\n홍길동,01012345678\n김';
  const all = Buffer.from(korean);
  it.each<readonly [string, Buffer, Encoding, RegExp]>([
    ['UTF-16LE without a mark', iconv.encode(korean, 'utf16le'), 'utf-8', /UTF-16 without/],
    ['UTF-16BE without a mark', iconv.encode(korean, 'utf16be'), 'utf-8', /UTF-16 without/],
    ['the same, as EUC-KR', iconv.encode(korean, 'utf16le'), 'euc-kr', /UTF-16 without/],
    ['UTF-8 that was cut', all.subarray(0, -1), 'utf-8', /Line 3: .* cut off\./],
    [
      'UTF-8 with a mark that was cut',
      Buffer.from(`\ufeff${korean}`).subarray(0, -1),
      'utf-8',
      /cut/,
    ],
    ['EUC-KR that was cut', iconv.encode(korean, 'cp949').subarray(0, -1), 'euc-kr', /cut off\./],
    ['EUC-KR', iconv.encode(korean, 'cp949'), 'utf-8', /Is the encoding euc-kr\?/],
    ['UTF-8, as EUC-KR', Buffer.from(`a${korean}`), 'euc-kr', /Is the encoding utf-8\?/],
    ['neither', Buffer.concat([all, Buffer.from([0xff, 0x0a])]), 'utf-8', /UTF-8\. Fix/],
    [
      'neither, as EUC-KR',
      Buffer.concat([all, Buffer.from([0xff, 0x0a])]),
      'euc-kr',
      /EUC-KR\. Fix/,
    ],
    ['a page', Buffer.from('\ufeff\n<HTML xmlns:o="x"><table>'), 'utf-8', /page .*save it as CSV/],
    ['a table', Buffer.from('<table border=1>'), 'utf-8', /page .*save it as CSV/],
    ['a JSON array', Buffer.from('[\n {"contact":"01012345678"}]'), 'utf-8', /array: .*NDJSON/],
  ])('is named, and no advice leads on in a circle: %s', async (_, bytes, encoding, message) => {
    const failure = await read(bytes, [1_000], encoding).catch((error: unknown) => error);
    expect((failure as Error).message).toMatch(message);
  });

  it('may begin with a title in brackets', async () => {
    const text = '[필수] 연락처,<b>\n';
    expect(Buffer.concat(await read(Buffer.from(text), [100])).toString()).toBe(text);
  });
});
