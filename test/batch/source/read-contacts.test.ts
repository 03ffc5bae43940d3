import { Readable } from 'node:stream';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { readNdjson } from '../../../src/batch/source/read-contacts.ts';
import { FieldChoice } from '../../../src/batch/source/sent-columns.ts';
import { piecesOf } from '../support/pieces.ts';

/** Line and kind of each row. */
async function read(text: string, size: number): Promise<readonly (readonly [number, string])[]> {
  const pieces = Readable.from(piecesOf(Buffer.from(text), [size]));
  const { rows } = readNdjson(pieces, new FieldChoice(undefined, false));
  const all: (readonly [number, string])[] = [];
  for (let next = await rows.next(); next.done !== true; next = await rows.next()) {
    for (const part of next.value) if ('check' in part) all.push([part.line, part.check.kind]);
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
