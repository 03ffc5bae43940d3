import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { allFailed } from '../../../src/batch/ledger/settlement.ts';
import { buildBatch, contacts as contactsOf } from '../../batch/support/built-batch.ts';
import { listWorlds } from '../support/list-world.ts';
import { start } from '../support/run.ts';

const { redis, file, world } = listWorlds();

const TWO = [
  { contact: '01000000001', var1: '김민준' },
  { contact: '01000000002', var1: '이서연' },
];
const LIST = 'contact,var1\n01000000001,김민준\n01000000002,이서연\n';

describe('a list without titles, of which nothing says so', () => {
  const rows = (first: string) => `${first},김민준,a\n01000000002,이서연,a\n`;
  const byPosition = ['--map', 'contact=1,var1=2'];

  it.each<readonly [string, string, readonly string[]]>([
    ['a number', rows('01000000001'), byPosition],
    ['a number with hyphens', rows('010-0000-0001'), byPosition],
    ['a number in quotes', rows('"01000000001"'), byPosition],
    ['a number with a country code', rows('+82 10-0000-0001'), byPosition],
    ['a number that a spreadsheet has converted', rows('1.00000E+09'), byPosition],
    ['a number, and the same text twice', 'x,x,01000000001\n', ['--map', 'contact=3,var1=1']],
    [
      'a number, and another column begins with the position',
      '2,01000000001,김민준\n3,01000000002,이서연\n',
      ['--map', 'contact=2,var1=3'],
    ],
  ])('%s: is refused with the option that reads all of it', async (name, text, flags) => {
    const { prefix, import: importing } = world();
    const list = file(`no-titles-${name.length}.csv`, text);
    for (const more of [[], ['--dry-run'], ['--pass-through']]) {
      const { code, stdout, stderr } = await importing(list, [...flags, ...more]);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(
        /^SOURCE_INVALID: Line 1: .* phone number\. Has the list no titles\? Then add --no-header /m,
      );
      expect(stderr).not.toMatch(/0000000|E\+09/);
    }
    // The secret of the account is no part of a list.
    const keys = await redis.keys(prefix);
    expect(keys.filter((key) => !key.endsWith(':secret'))).toEqual([]);
  });

  it('is read with that option, its first contact included', async () => {
    const { import: importing, contacts } = world();
    const list = file('no-titles.csv', LIST.replace('contact,var1\n', ''));
    expect((await importing(list, [...byPosition, '--no-header'])).code).toBe(0);
    expect(await contacts()).toEqual(TWO);
  });

  it('and without a map: the message names the column and that option', async () => {
    const list = file('no-map.csv', LIST.replace('contact,var1\n', ''));
    const { code, stderr } = await world().import(list);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/Then add --no-header --map contact=1 /),
    ]);
  });

  it.each([
    ['words', 'Phone,Name', 'contact=1,var1=2'],
    ['none', ',Name', 'contact=1,var1=2'],
    ['positions', '1,2', 'contact=1,var1=2'],
    ['other positions', '2,1', 'contact=2,var1=1'],
    ['years', '2023,2024', 'contact=2023,var1=2024'],
    ['words and a date', 'Phone (2026-11-23),Name', 'contact=1,var1=2'],
  ])('but titles are titles: %s', async (name, titles, map) => {
    const { import: importing, contacts } = world();
    const list = file(`titles-${name.length}.csv`, LIST.replace('contact,var1', titles));
    const flags = ['--map', map];
    expect((await importing(list, flags)).code).toBe(0);
    expect(await contacts()).toHaveLength(2);
  });
});

describe('text of other encodings', () => {
  it.each([
    ['UTF-16LE', iconv.encode(LIST, 'utf16le', { addBOM: true })],
    ['UTF-16BE', iconv.encode(LIST, 'utf16be', { addBOM: true })],
  ])('%s with its byte order mark is read, from a file and from a stream', async (name, bytes) => {
    for (const piped of [false, true]) {
      const { import: importing, contacts } = world();
      const ended = await (piped ? importing('-', [], bytes) : importing(file(name, bytes)));
      expect(ended.code).toBe(0);
      expect(await contacts()).toEqual(TWO);
    }
  });

  it.each<readonly [string, Buffer, RegExp]>([
    ['UTF-16LE without a mark', iconv.encode(LIST, 'utf16le'), /UTF-16 without.*save it as UTF-8/],
    ['UTF-16BE without a mark', iconv.encode(LIST, 'utf16be'), /UTF-16 without.*save it as UTF-8/],
    ['UTF-32LE', iconv.encode(LIST, 'utf32le', { addBOM: true }), /UTF-32: save it as UTF-8/],
    ['UTF-32BE', iconv.encode(LIST, 'utf32be', { addBOM: true }), /UTF-32: save it as UTF-8/],
    [
      'UTF-8 with a mark, and a line of EUC-KR',
      Buffer.concat([Buffer.from(`\ufeff${LIST}`), iconv.encode('01000000003,박지후', 'cp949')]),
      /Line 4, character 13: .* UTF-8\. .* byte order mark .* save the whole list in it/,
    ],
  ])('%s is refused with what to do', async (name, bytes, message) => {
    const { prefix, import: importing } = world();
    const { code, stderr } = await importing(file(name, bytes));
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    expect(stderr).not.toContain('--encoding');
    // The secret of the account is no part of a list.
    const keys = await redis.keys(prefix);
    expect(keys.filter((key) => !key.endsWith(':secret'))).toEqual([]);
  });
});

describe('gzip', () => {
  const [first, second] = [gzipSync(LIST.slice(0, -22)), gzipSync(LIST.slice(-22))];
  const zeros = (count: number) => Buffer.alloc(count);

  it.each<readonly [string, Buffer]>([
    ['two members', Buffer.concat([first, second])],
    ['zero bytes after the last', Buffer.concat([first, second, zeros(512)])],
    ['a million zero bytes after the last', Buffer.concat([first, second, zeros(1_000_000)])],
    ['a zero byte between them', Buffer.concat([first, zeros(1), second])],
    ['half a million between them', Buffer.concat([first, zeros(500_000), second, zeros(9)])],
    ['an empty member', Buffer.concat([first, zeros(3), gzipSync(''), zeros(3), second])],
    ['compressed twice', gzipSync(Buffer.concat([gzipSync(LIST), zeros(600_000)]))],
  ])('%s: all rows are read, from a file and from a stream', async (name, bytes) => {
    for (const piped of [false, true]) {
      const { import: importing, contacts } = world();
      const list = file(`gzip-${name.length}.csv.gz`, bytes);
      const ended = await (piped ? importing('-', [], bytes) : importing(list));
      expect([ended.code, ended.stderr.replaceAll(/importing.*\n/g, '')]).toEqual([0, '']);
      expect(await contacts()).toEqual(TWO);
    }
  });

  it.each<readonly [string, Buffer, RegExp]>([
    ['cut off after zero bytes', Buffer.concat([first, zeros(9), second.subarray(0, -9)]), /cut/],
    ['text after it', Buffer.concat([first, second, Buffer.from('more')]), /damaged/],
    ['text after zero bytes', Buffer.concat([first, zeros(9), Buffer.from('more')]), /damaged/],
    ['within gzip within gzip', gzipSync(gzipSync(gzipSync(LIST))), /unpack it first/],
  ])('%s: is refused', async (name, bytes, message) => {
    const { prefix, import: importing } = world();
    const { code, stderr } = await importing(file(`bad-${name.length}.csv.gz`, bytes));
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    // The secret of the account is no part of a list.
    const keys = await redis.keys(prefix);
    expect(keys.filter((key) => !key.endsWith(':secret'))).toEqual([]);
  });
});

it('a batch that is continued with another list: exit code 1, as contacts are queued', async () => {
  const { import: importing } = world();
  const rows = contactsOf(20_000).map(({ contact }) => `${contact}\n`);
  const whole = `contact\n${rows.join('')}`;
  expect((await importing('-', [], Buffer.from(`${whole}"`))).code).toBe(1);
  const other = whole.replace(rows[1_100] ?? '', '');
  const { code, stderr } = await importing('-', [], Buffer.from(other));
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^BATCH_CONFLICT: .* contacts are already queued, in batch b\./m),
  ]);
});

describe('the file of refused rows', () => {
  it.each([
    ['a semicolon', ';'],
    ['a tab', '\t'],
    ['a full-width semicolon', '；'],
    ['an apostrophe', "'"],
  ])('of a list with %s is imported with the options of its list', async (name, delimiter) => {
    const { prefix, import: importing } = world();
    const value = `a${delimiter}"b",\nc`;
    const rows = [
      ['contact', 'var1', 'var2'],
      ['01000000001', 'x', 'y'],
      ['+82', `"${value.replaceAll('"', '""')}"`, '=1+1'],
    ];
    const text = rows.map((cells) => cells.join(delimiter)).join('\n');
    const list = file(`delimiter-${name.length}.csv`, text);
    const flags = ['--delimiter', delimiter];
    expect((await importing(list, flags)).stdout).toMatch(/^ {2}rejected +1, see /m);
    const rejected = readFileSync(`${list}.rejected.csv`, 'utf8').replaceAll("'+82", '01000000002');
    const corrected = file(`corrected-${name.length}.csv`, rejected);
    expect((await importing(corrected, [...flags, '--batch', 'c'])).code).toBe(0);
    expect(await world(prefix).contacts('c')).toEqual([
      { contact: '01000000002', var1: value, var2: '=1+1' },
    ]);
  });

  it('of failures has commas: with another delimiter the message names it', async () => {
    const { prefix, import: importing, contacts } = world();
    const built = await buildBatch(redis.client, prefix, 'old', [[TWO[0] ?? { contact: '' }]]);
    await built.settle(0, allFailed(1, 'rejected', 'X', 'no'));
    const exporting = start(['failures', 'old', '--csv'], {
      REDIS_URL: redis.url,
      REDIS_PREFIX: prefix,
    });
    const list = file('failures.csv', (await exporting.ended).stdout);
    const { code, stderr } = await importing(list, ['--delimiter', ';']);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/Then add --delimiter ',' /)]);
    expect((await importing(list, [])).code).toBe(0);
    expect(await contacts()).toEqual(TWO.slice(0, 1));
  });
});
