import { Readable } from 'node:stream';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { readNdjson } from '../../../src/batch/source/read-contacts.ts';
import { FieldChoice, type FieldMap } from '../../../src/batch/source/sent-columns.ts';
import type { SourceRow } from '../../../src/batch/source/source-row.ts';
import { piecesOf } from '../support/pieces.ts';

/** Line and kind of each row. */
async function read(text: string, size: number): Promise<readonly (readonly [number, string])[]> {
  return (await checks(text, size)).map(({ line, check }) => [line, check.kind]);
}

async function checks(text: string, size = 100, map?: FieldMap): Promise<SourceRow[]> {
  const pieces = Readable.from(piecesOf(Buffer.from(text), [size]));
  const { rows } = readNdjson(pieces, new FieldChoice(map, false));
  const all: SourceRow[] = [];
  for (let next = await rows.next(); next.done !== true; next = await rows.next()) {
    for (const part of next.value) if ('check' in part) all.push(part);
  }
  return all;
}

it('lines of NDJSON end with LF or CRLF, also mixed, wherever the text is cut', async () => {
  const line = fc.record({
    text: fc.constantFrom(
      '{"contact":"01000000101","var1":"a\\r\\n"}',
      '{"contact":"01000000102"}',
      'x',
      '',
      ' ',
    ),
    end: fc.constantFrom('\n', '\r\n'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.integer({ min: 1, max: 50 }), async (lines, size) => {
      const expected = lines.flatMap(({ text }, index) =>
        text.trim() === '' ? [] : [[index + 1, text === 'x' ? 'refused' : 'contact']],
      );
      const whole = lines.map(({ text, end }) => `${text}${end}`).join('');
      expect(await read(whole, size)).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});

it('a last line that is not whole and has no end names the cut', async () => {
  const whole = '{"contact":"01000000101"}\n\u200b\n';
  const cut = {
    check: { reason: expect.stringMatching(/one JSON object.*was cut off/) as unknown },
  };
  expect(await checks(`${whole}{"contact":"0100`)).toMatchObject([{}, cut]);
  expect(await checks(`${whole}{"contact":"0100\n`)).not.toMatchObject([{}, cut]);
  expect(await read(`${whole}{"contact":"01000000102"}`, 100)).toHaveLength(2);
});

it('fields are found like columns: in any case, in any encoding of the same characters', async () => {
  const contact = { check: { json: '{"contact":"01000000101","var1":"a"}' } };
  expect(await checks('{"Contact":"01000000101","\ufeffVAR1 ":"a"}\n')).toMatchObject([contact]);
  const decomposed = '휴대폰\u00a0번호'.normalize('NFD');
  const map = { contact: '휴대폰 번호', var1: '이름' };
  const line = `{"${decomposed}":"01000000101","이름":"a"}\n`;
  expect(await checks(line, 100, map)).toMatchObject([contact]);
  const twice = '{"contact":"01000000101","Contact":"01000000102"}\n';
  expect(await checks(twice)).toMatchObject([
    { check: { reason: 'there is another field for contact' } },
  ]);
});

it.each([
  ['{"이름":"김","휴대폰":"010-0000-0101"}\n', undefined, /Line 1: .* --map 'contact=휴대폰' \(/],
  ['x\n\n{"id":20261128,"p":"01000000101"}\n', { contact: 'q' }, /Line 3: .* --map contact=p \(/],
  ['{"":"01000000101","memo":"call"}\n', undefined, /--map contact=TITLE \(.*option map\)\. Fix/],
  ['{"memo":"전화"}\n', undefined, /--map contact=TITLE \(.*option map\)\. Fix/],
  [`${'{"memo":"a"}\n'.repeat(20)}{"contact":"01000000101"}\n`, undefined, /Line 1: .* "memo"/],
])(
  'a list of which no object of the first rows has a number is refused: %s',
  async (text, map, message) => {
    await expect(checks(text, 100, map)).rejects.toThrow(message);
  },
);

it.each([
  '{"var1":"a"}',
  '{}',
  '{"rejected_row":1,"rejected_value":"x","rejected_reason":"no json"}',
  '[]\n{"memo":"a"}\nx',
])('objects without a number before one that has it are refused alone: %s', async (first) => {
  for (const size of [1, 100]) {
    const rows = await read(`${first}\n{"contact":"01000000101"}\n`, size);
    expect(rows.map(([, kind]) => kind)).toEqual([
      ...first.split('\n').map(() => 'refused'),
      'contact',
    ]);
  }
});
