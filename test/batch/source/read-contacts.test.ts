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
