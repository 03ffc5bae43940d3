import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { expect } from 'vitest';
import { readImportOptions } from '../../../src/batch/import/import-options.ts';
import { openSource } from '../../../src/batch/source/open-source.ts';
import type { SourcePart } from '../../../src/batch/source/source-row.ts';
import { NoticeQueueError } from '../../../src/contracts/errors.ts';
import { piecesOf } from '../../batch/support/pieces.ts';
import { damaged, hostileText, nearly, textOf } from '../support/hostile.ts';
import { target } from '../support/target.ts';

const cell = fc.oneof(
  { weight: 3, arbitrary: fc.stringMatching(/^010[0-9]{8}$/) },
  hostileText,
  hostileText.map((text) => `"${text.replaceAll('"', '""')}"`),
  fc.constantFrom('"open', 'a"b', '"a"b', '""'),
);

const csv = fc
  .record({
    header: fc.constantFrom('contact,var1', 'contact', '\ufeffcontact,var1', '"contact","var1"'),
    rows: fc.array(fc.array(cell, { minLength: 1, maxLength: 3 }), { maxLength: 30 }),
    delimiter: fc.constantFrom(',', ',', ',', ';', '\t'),
    end: fc.constantFrom('\n', '\r\n', '\r'),
  })
  .map(({ header, rows, delimiter, end }) =>
    [header, ...rows.map((cells) => cells.join(delimiter))].join(end),
  );

const line = fc.oneof(
  { weight: 3, arbitrary: nearly({ contact: '01098761234', var1: 'Kim', x: [1] }).map(textOf) },
  hostileText,
  fc
    .integer({ min: 1, max: 30_000 })
    .map((levels) => `{"contact":"0101","x":${'['.repeat(levels)}`),
);
const ndjson = fc.array(line, { maxLength: 20 }).map((lines) => lines.join('\n'));

/** The bytes of a list: as they are, damaged, in another encoding or packed. */
function encoded(texts: fc.Arbitrary<string>): fc.Arbitrary<Buffer> {
  return fc.oneof(
    texts.map((text) => Buffer.from(text)),
    damaged(texts),
    texts.map((text) => Buffer.from(`\ufeff${text}`, 'utf16le')),
    texts.map((text) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16()),
    texts.map((text) => gzipSync(text)),
    texts.map((text) => gzipSync(text).subarray(0, -6)),
    texts.map((text) => Buffer.concat([gzipSync(text), Buffer.alloc(20), gzipSync(text)])),
  );
}

function lists(format: 'csv' | 'ndjson', texts: fc.Arbitrary<string>) {
  return fc.record({
    bytes: encoded(texts),
    pieceLength: fc.constantFrom(7, 1_000, 65_536),
    options: fc.record(
      {
        format: fc.constant(format),
        encoding: fc.constantFrom('utf-8', 'euc-kr'),
        passThrough: fc.boolean(),
        delimiter: fc.constantFrom(',', ';', '\t'),
      },
      { requiredKeys: ['format'] },
    ),
  });
}

type List = ReturnType<typeof lists> extends fc.Arbitrary<infer One> ? One : never;

/** Reads a list to its end: each row is a contact of digits or a refusal; or the list is refused. */
async function readToEnd({ bytes, pieceLength, options }: List): Promise<void> {
  const stream = Readable.from(piecesOf(bytes, [pieceLength]), { objectMode: false });
  try {
    const checked = readImportOptions({ templateCode: 'T', ...options });
    const source = await openSource(stream, checked);
    const { rows } = await source.read();
    for (let next = await rows.next(); next.done !== true; next = await rows.next()) {
      for (const part of next.value) expectRow(part);
    }
    await source.close?.();
  } catch (error) {
    if (!(error instanceof NoticeQueueError && error.code === 'SOURCE_INVALID')) throw error;
    expect(error.message).not.toMatch(/01098761234/);
  } finally {
    stream.destroy();
  }
}

function expectRow(part: SourcePart): void {
  const texts: string[] = [];
  if ('block' in part) {
    const { block, from, to } = part;
    const start = from === 0 ? 0 : block.ends[from - 1];
    texts.push(
      `[${block.json
        .subarray(start, block.ends[to - 1])
        .toString()
        .slice(1)}]`,
    );
  } else if (part.check.kind === 'contact') texts.push(`[${part.check.json}]`);
  else expect(part.check.reason).not.toMatch(/01098761234|[\p{Cc}\p{Cs}]/u);
  for (const text of texts) {
    for (const contact of JSON.parse(text) as { contact: unknown }[]) {
      expect(contact.contact).toMatch(/^[0-9]{1,20}$/);
    }
  }
}

export const LIST_TARGETS = [
  target({ name: 'CSV', inputs: lists('csv', csv), law: readToEnd }),
  target({ name: 'NDJSON', inputs: lists('ndjson', ndjson), law: readToEnd }),
];
