import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { readImportOptions } from '../../../src/batch/import/import-options.ts';
import type { FieldMap } from '../../../src/batch/source/sent-columns.ts';
import { openSource } from '../../../src/batch/source/open-source.ts';
import { NoticeQueueError } from '../../../src/contracts/errors.ts';

/** Contacts of a list as JSON, and refusals by their line; or why the list is refused. */
async function read(
  text: string,
  format: 'csv' | 'ndjson',
  map?: FieldMap,
): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  const stream = Readable.from([Buffer.from(text)], { objectMode: false });
  try {
    const source = await openSource(stream, readImportOptions({ templateCode: 'T', format, map }));
    const { rows } = await source.read();
    for (let next = await rows.next(); next.done !== true; next = await rows.next()) {
      for (const part of next.value) {
        if ('block' in part) {
          const { block, from, to } = part;
          const start = from === 0 ? 0 : block.ends[from - 1];
          const json = block.json.subarray(start, block.ends[to - 1]).toString();
          found.push(...(JSON.parse(`[${json.slice(1)}]`) as unknown[]));
        } else if (part.check.kind === 'contact') found.push(JSON.parse(part.check.json));
        else found.push(`line ${part.line} is refused`);
      }
    }
    await source.close();
  } catch (error) {
    if (!(error instanceof NoticeQueueError)) throw error;
    found.push(error.message);
  }
  return found;
}

const contact = (var1: string) => ({ contact: '01012345678', var1 });

it.each<readonly [string, 'csv' | 'ndjson', string, readonly unknown[]]>([
  [
    '7 tabs',
    'csv',
    'contact\tvar1\n01012345678\tKim\n',
    [expect.stringMatching(/no column "contact".*delimiter/s)],
  ],
  ['43 an emoji', 'csv', 'contact,var1\n01012345678,👍🏽\n', [contact('👍🏽')]],
  [
    '44 a text of 91 bytes',
    'csv',
    `contact,var1\n01012345678,${'가'.repeat(45)}x\n`,
    [contact(`${'가'.repeat(45)}x`)],
  ],
  [
    '45 a value that looks like a variable',
    'csv',
    'contact,var1\n01012345678,#{var2}\n',
    [contact('#{var2}')],
  ],
  [
    '46 a value that looks like a replacement',
    'csv',
    'contact,var1\n01012345678,$& $1 $$\n',
    [contact('$& $1 $$')],
  ],
  [
    '48 a line break in a value',
    'csv',
    'contact,var1\n01012345678,"a\r\nb"\n',
    [contact('a\r\nb')],
  ],
  [
    '54 the same field twice',
    'ndjson',
    '{"contact":"01000000101","contact":"01012345678","var1":"a","var1":"b"}',
    [contact('b')],
  ],
  [
    '59 a byte order mark inside',
    'ndjson',
    '{"contact":"01012345678","var1":"a"}\n\ufeff{"contact":"01000000102"}\n',
    [contact('a'), 'line 2 is refused'],
  ],
])('%s', async (_name, format, text, expected) => {
  expect(await read(text, format)).toEqual(expected);
});

it('47 a value that is missing', async () => {
  const list = '{"contact":"01012345678","name":"a"}\n{"contact":"01087654321"}\n';
  const map = { contact: 'contact', var1: 'name' };
  expect(await read(list, 'ndjson', map)).toEqual([contact('a'), 'line 2 is refused']);
});
