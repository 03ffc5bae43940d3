import { chmodSync, symlinkSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { gzipSync as zip } from 'node:zlib';
import { Readable } from 'node:stream';
import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import type { ImportOptions } from '../../../src/index.ts';
import { testRedis } from '../../support/redis.ts';
import { csvList } from '../support/csv-list.ts';
import { failureOf, importWorld, listFile } from '../support/import-world.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const redis = testRedis();
const stream = (text: string | Buffer) => Readable.from([Buffer.from(text)], { objectMode: false });
const NOBODY = 65_534;
const euckr = Buffer.from([0xc8, 0xab, 0xb1, 0xe6, 0xb5, 0xbf]);

/** The superuser may read every file, so it does this as another user. */
async function asUserWithoutRights<Result>(work: () => Promise<Result>): Promise<Result> {
  if (process.geteuid?.() !== 0) return work();
  process.seteuid?.(NOBODY);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}

const LIST = 'contact,var1\n01000000101,김민준\n';
const [SAVE_16, SAVE_32] = [/UTF-16 without.*save it as UTF-8/, /UTF-32: save it as UTF-8/];

describe('a list that cannot be read is refused as a whole, and nothing is queued', () => {
  const LISTS: readonly (readonly [string, string | Buffer, RegExp, Partial<ImportOptions>?])[] = [
    ['an empty file', '', /is empty/],
    ['a header and nothing else', 'contact,var1\n', /contains no contacts/],
    ['empty lines alone', '\n\n', /The list is empty/],
    [
      'a quote that is never closed, in a long file',
      `contact,var1\n01000000101,a\n01000000102,"a\n${'01000000103,b\n'.repeat(200_000)}`,
      /Line 3, column 2: a quote is opened/,
    ],
    [
      'a quote inside a cell',
      'contact,var1\n01000000101,a"b\n',
      /Line 2, column 2: a quote inside a cell/,
    ],
    [
      'text after a closing quote',
      'contact,var1\r\n01000000101,"a"b\r\n',
      /Line 2, column 2: text after the closing quote/,
    ],
    [
      'another encoding',
      Buffer.concat([
        Buffer.from('contact,var1\n01000000101,a\n01000000102,'),
        euckr,
        Buffer.from('\n'),
      ]),
      /Line 3: a byte is not valid UTF-8\. Is the encoding euc-kr\? Then add --encoding euc-kr /,
    ],
    ['UTF-16LE without a mark', iconv.encode(LIST, 'utf16le'), SAVE_16],
    ['UTF-16BE without a mark', iconv.encode(LIST, 'utf16be'), SAVE_16],
    ['UTF-32LE', iconv.encode(LIST, 'utf32le', { addBOM: true }), SAVE_32],
    ['UTF-32BE', iconv.encode(LIST, 'utf32be', { addBOM: true }), SAVE_32],
    [
      'UTF-8 with a mark, and a line of EUC-KR',
      Buffer.concat([Buffer.from(`\ufeff${LIST}`), iconv.encode('01000000102,박지후', 'cp949')]),
      /Line 3: .* UTF-8\. .* byte order mark .* save the whole list in it/,
    ],
    ['gzip within gzip within gzip', zip(zip(zip(LIST))), /unpack it first/],
    ['a workbook', Buffer.from('PK\u0003\u0004rest'), /workbook \(XLSX\).*save it as CSV/],
    ['an old workbook', Buffer.from('d0cf11e0a1b11ae1', 'hex'), /XLS.*save it as CSV/],
  ];
  it.each(LISTS.map(([name, ...list]) => ({ name, list })))('$name', async ({ list }) => {
    const [content, message, options] = list;
    const world = importWorld(redis);
    const failure = await failureOf(world.import(listFile(content), options));
    expect([failure.code, failure.message]).toStrictEqual([
      'SOURCE_INVALID',
      expect.stringMatching(message),
    ]);
    expect(failure.message).not.toMatch(/01000000101|01000000102/);
    const stored = (await redis.keys(world.prefix)).filter((key) => key !== world.keys.account);
    expect(stored).toStrictEqual([]);
  });

  it('a directory, a missing file, a pipe', async () => {
    const world = importWorld(redis);
    const folder = temporaryFolder();
    const messageOf = async (file: string) => (await failureOf(world.import(file))).message;
    expect(await messageOf(folder)).toMatch(/is a directory/);
    expect(await messageOf(path.join(folder, 'none.csv'))).toMatch(/there is no such file/);
    expect(await messageOf('/dev/null')).toMatch(/not a regular file; pass it as a stream/);
  });

  it('a file that this user may not read, and a link that leads to itself', async () => {
    const world = importWorld(redis);
    const file = listFile('contact\n01012345678\n');
    chmodSync(file, 0);
    const refused = await asUserWithoutRights(() => failureOf(world.import(file)));
    expect([refused.code, refused.message]).toEqual([
      'SOURCE_INVALID',
      expect.stringMatching(/list\.csv cannot be opened: EACCES/),
    ]);
    const loop = path.join(temporaryFolder(), 'loop.csv');
    symlinkSync(loop, loop);
    const looping = await failureOf(world.import(loop));
    expect([looping.code, looping.message]).toEqual([
      'SOURCE_INVALID',
      expect.stringMatching(/loop\.csv cannot be opened: ELOOP/),
    ]);
    expect(await redis.keys(world.prefix)).toEqual([]);
  });

  it('a file of 5 GB that is one row is refused, in bounded memory', async () => {
    const world = importWorld(redis);
    const file = listFile('contact,var1\n01000000101,');
    // Its rest takes no room on the disk.
    truncateSync(file, 5 * 1024 ** 3);
    const before = process.memoryUsage.rss();
    const failure = await failureOf(world.import(file));
    expect([failure.code, failure.message]).toEqual([
      'SOURCE_INVALID',
      expect.stringMatching(/Line 2, .*longer than/),
    ]);
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 * 1024);
    const stored = (await redis.keys(world.prefix)).filter((key) => key !== world.keys.account);
    expect(stored).toEqual([]);
  });
});

describe('a stream, which is read only once', () => {
  it('that breaks in the middle reports what is already queued', async () => {
    const world = importWorld(redis);
    const text = `${csvList(20_000)}01000000101,"open\n`;
    const failure = await failureOf(world.import(stream(text), { batchId: 'cut' }));
    expect(failure.code).toBe('SOURCE_INVALID');
    expect(failure.message).toMatch(/Line \d+, column 2: a quote.*already queued, in batch cut/);
    expect(await world.ledger.read('cut')).toMatchObject({ phase: 'importing' });
  });

  it('that fails or is not a list is reported', async () => {
    const world = importWorld(redis);
    const broken = new Readable({
      read() {
        this.destroy(new Error('gone'));
      },
    });
    expect((await failureOf(world.import(broken))).message).toMatch(/failed before its end/);
    expect((await failureOf(world.import(stream('')))).message).toMatch(/list is empty/);
    expect((await failureOf(world.import(5 as unknown as string))).message).toMatch(
      /source: expected/,
    );
  });

  it('ends with the signal, however long the list takes', async () => {
    const world = importWorld(redis);
    const never = new Readable({ read() {} });
    const forEver = {
      [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }),
    };
    for (const source of [never, forEver]) {
      const stop = new AbortController();
      const running = failureOf(world.import(source, { signal: stop.signal }));
      setImmediate(() => stop.abort());
      expect((await running).code).toBe('IMPORT_STOPPED');
    }
  });
});

it('a line of NDJSON that is wrong, even one of 3 MB, is refused, and the others go on', async () => {
  const world = importWorld(redis);
  const lines = [
    '{"contact":"01000000101","var1":"a"}',
    '{"contact":"01000000102"',
    '[1]',
    '',
    'null',
    '{"contact":1012345678}',
    '{"contact":"01000000103","__proto__":{"x":1}}',
    `{"contact":"01000000104","var1":"${'x'.repeat(3_000_000)}"}`,
    '['.repeat(100_000),
    '{"contact":"01000000105"}{"contact":"01000000106"}',
    '{"contact":"01000000107"}',
  ];
  const report = await world.import(listFile(lines.join('\n'), 'list.ndjson'));
  expect(report.firstRefused.map(({ line }) => line)).toStrictEqual([2, 3, 5, 6, 7, 8, 9, 10]);
  expect(report.contacts).toBe(2);
  expect(await world.contacts(report.batch)).toStrictEqual([
    { contact: '01000000101', var1: 'a' },
    { contact: '01000000107' },
  ]);
});

it.each<readonly [Record<string, unknown>, RegExp]>([
  [{ templateCode: '' }, /templateCode: /],
  [{ templateCode: undefined }, /templateCode: expected a template code as text/],
  [{ chunkSize: 0 }, /chunkSize: expected a whole number/],
  [{ rate: 1.5 }, /rate: /],
  [{ highWater: -1 }, /highWater: /],
  [{ delivery: 'twice' }, /delivery: expected one of at-least-once, at-most-once/],
  [{ batchId: 'a:b' }, /batchId: expected 1 to 64 letters/],
  [{ map: { var1: 'x' } }, /map: expected an entry for contact/],
  [{ map: { contact: 'x', Var1: 'y' } }, /map: expected contact and var1, var2, .* lower case/],
  [{ header: false }, /map: expected positions/],
  [{ delimiter: ';;' }, /delimiter: expected one character/],
  [{ encoding: 'latin1' }, /encoding: expected one of utf-8, euc-kr/],
  [{ format: 'xlsx' }, /format: expected csv or ndjson/],
  [{ expiresAt: new Date(0) }, /expiresAt: expected a time in the future/],
  [{ fields: { contacts: [] } }, /fields: must not have contacts/],
  [{ fields: { when: new Date(0) } }, /when: expected a JSON value/],
  [{ senderKey: 5 }, /senderKey: expected a sender key as text/],
  [{ dryrun: true }, /dryrun: unknown option/],
])('options that are wrong are named, and nothing is read: %j', async (options, message) => {
  const world = importWorld(redis);
  const failure = await failureOf(world.import('/nowhere.csv', options));
  expect([failure.code, failure.message]).toStrictEqual([
    'NOTICE_INVALID',
    expect.stringMatching(message),
  ]);
});

describe('lists as spreadsheets and tools make them', () => {
  const TWO = [
    { contact: '01012345678', var1: '홍길동' },
    { contact: '01087654321', var1: '김 "철수", 외' },
  ];
  const csv = 'contact,var1\r\n01012345678,홍길동\r\n01087654321,"김 ""철수"", 외"\r\n';

  const bySemicolon = csv.replace(/,(?! )/g, ';');
  const byName = { map: { contact: 'contact', var1: '이름' } };

  it.each<readonly [string, string | Buffer, Partial<ImportOptions>]>([
    ['a header with LF and rows with CRLF', csv.replace('\r\n', '\n'), {}],
    ['a byte order mark', `\ufeff${csv}`, {}],
    ['compressed twice', zip(zip(csv)), {}],
    ['UTF-16', Buffer.from(`\ufeff${csv}`, 'utf16le'), {}],
    ['semicolons', bySemicolon, { delimiter: ';' }],
    ['columns by name', csv.replace('var1', '이름'), byName],
  ])('%s', async (_, content, options) => {
    const world = importWorld(redis);
    const { batch } = await world.import(listFile(content), options);
    expect(await world.contacts(batch)).toStrictEqual(TWO);
    const streamed = await world.import(stream(content), { ...options, again: true });
    expect(await world.contacts(streamed.batch)).toStrictEqual(TWO);
  });

  it('NDJSON, by its name or by its first character', async () => {
    const world = importWorld(redis);
    const lines = TWO.map((contact) => `${JSON.stringify(contact)}\r\n`).join('');
    for (const name of ['list.ndjson', 'list.jsonl', 'list']) {
      const { batch } = await world.import(listFile(lines, name), {
        batchId: name.replace('.', '-'),
        again: true,
      });
      expect(await world.contacts(batch)).toStrictEqual(TWO);
    }
    const { batch } = await world.import(stream(lines), { again: true });
    expect(await world.contacts(batch)).toStrictEqual(TWO);
  });
});
