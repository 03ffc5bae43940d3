import {
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { NewFile, partOf } from '../../../src/batch/import/rejects-file.ts';
import type { ImportOptions } from '../../../src/index.ts';
import { testRedis } from '../../support/redis.ts';
import { csvList } from '../support/csv-list.ts';
import { failureOf, importWorld, listFile } from '../support/import-world.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const redis = testRedis();
const rejectedOf = (file: string) => `${file}.rejected.csv`;

describe('what lies where the file of refused rows goes', () => {
  const BAD = 'contact,var1\n01012345678,ok\nnobody,Park\n';

  it('the list, under another name: refused before anything is queued', async () => {
    const world = importWorld(redis);
    for (const link of [linkSync, symlinkSync]) {
      const file = listFile(BAD);
      link(file, rejectedOf(file));
      for (const overwriteRejects of [false, true]) {
        const failure = await failureOf(world.import(file, { overwriteRejects }));
        expect(failure.code).toBe('REJECTS_UNWRITABLE');
      }
      expect(readFileSync(file, 'utf8')).toBe(BAD);
    }
    expect(await world.jobIds()).toEqual([]);
  });

  it('the list, where the unfinished file would be: refused, and it stays', async () => {
    const world = importWorld(redis);
    const file = listFile(BAD, 'list.csv.part');
    const rejectsFile = file.replace(/\.part$/, '');
    const failure = await failureOf(world.import(file, { rejectsFile }));
    expect(failure.code).toBe('REJECTS_UNWRITABLE');
    expect(readFileSync(file, 'utf8')).toBe(BAD);
    expect(await world.jobIds()).toEqual([]);
  });

  it('a link to another file: neither is changed', async () => {
    const world = importWorld(redis);
    const file = listFile(BAD);
    const other = listFile('precious');
    symlinkSync(other, rejectedOf(file));
    symlinkSync(other, `${rejectedOf(file)}.part`);
    const { rejectsFile = '' } = await world.import(file);
    expect(rejectsFile).toBe(`${file}.rejected-2.csv`);
    expect(readFileSync(rejectsFile, 'utf8')).toContain('nobody');
    expect(lstatSync(rejectsFile).isSymbolicLink()).toBe(false);
    expect(readFileSync(other, 'utf8')).toBe('precious');
  });

  it('a link to a device or a pipe, or a device: refused before anything is queued', async () => {
    const world = importWorld(redis);
    const file = listFile(BAD);
    symlinkSync('/dev/null', rejectedOf(file));
    for (const options of [
      {},
      { overwriteRejects: true },
      { rejectsFile: '/dev/stdout' },
      { rejectsFile: '/tmp' },
    ]) {
      const failure = await failureOf(world.import(file, options));
      expect(failure.code).toBe('REJECTS_UNWRITABLE');
      expect(failure.message).toContain('it is not a regular file');
    }
    expect(lstatSync(rejectedOf(file)).isSymbolicLink()).toBe(true);
    expect(await world.jobIds()).toEqual([]);
  });

  it('a file that someone edited: it is kept, and replaced only on demand', async () => {
    const world = importWorld(redis);
    const file = listFile(BAD);
    expect(await world.import(file, { dryRun: true })).toMatchObject({
      rejectsFile: rejectedOf(file),
    });
    // The same rows again: nothing is to be kept apart.
    expect(await world.import(file)).toMatchObject({ rejectsFile: rejectedOf(file) });
    writeFileSync(rejectedOf(file), 'edited');
    const again = await world.import(file, { again: true });
    expect(again.rejectsFile).toBe(`${file}.rejected-2.csv`);
    expect(readFileSync(rejectedOf(file), 'utf8')).toBe('edited');
    const forced = await world.import(file, { again: true, overwriteRejects: true });
    expect(forced.rejectsFile).toBe(rejectedOf(file));
    expect(readFileSync(rejectedOf(file), 'utf8')).toContain('nobody');
    expect(statSync(rejectedOf(file)).mode & 0o777).toBe(0o600);
    expect(readdirSync(path.dirname(file)).sort()).toEqual([
      'list.csv',
      'list.csv.rejected-2.csv',
      'list.csv.rejected.csv',
    ]);
  });
});

it('of an import that is stopped there is none, and of the same import again one with all rows', async () => {
  const world = importWorld(redis);
  // More refused rows than are written at once, before and after the contacts.
  const bad = `${'x'.repeat(40)},x\n`.repeat(1_000);
  const file = listFile(`contact,var1\n${bad}${csvList(350).slice(13)}${bad}`);
  const folder = () => readdirSync(path.dirname(file)).sort();
  const { message } = await world.stopped(file, 150);
  expect(message).toMatch(/200 contacts are already queued, in batch b-/);
  expect(folder()).toEqual(['list.csv']);
  const report = await world.import(file);
  expect(report).toMatchObject({ resumed: true, contacts: 350, refused: 2_000 });
  expect(folder()).toEqual(['list.csv', 'list.csv.rejected.csv']);
  expect(readFileSync(rejectedOf(file), 'utf8').split('\n')).toHaveLength(2_002);
});

it('a line nested 20,000 levels is one refused row', async () => {
  const world = importWorld(redis);
  const deepIn = (field: string) =>
    `{"contact":"01012345678","${field}":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
  const text = `${deepIn('var1')}\n${deepIn('other')}\n{"contact":"01012345679"}\n`;
  const file = listFile(text, 'list.ndjson');
  const report = await world.import(file, { passThrough: true });
  expect(report).toMatchObject({ contacts: 1, refused: 2 });
  const [first = '', second = ''] = readFileSync(report.rejectsFile ?? '', 'utf8').split('\n');
  expect(first).toMatch(/^\{"rejected_row":1,.*"contact":"01012345678","var1":\[\[/);
  expect(second).toMatch(/^\{"rejected_row":2,.*"contact":"01012345678","other":\[\[/);
});

describe('the corrected file, imported with the options of its list', () => {
  const byName = { map: { contact: 'Phone', var1: 'Name' } };
  const byNumber = { map: { contact: 2, var1: 1 } };
  const byPosition = { map: { contact: '2', var1: '1' } };

  it.each<readonly [string, string, Partial<ImportOptions>]>([
    ['by title', 'Name,Phone', byName],
    ['by number', 'Name,Phone', byNumber],
    ['by position', 'Name,Phone', byPosition],
    ['by number, without titles', '=A0,01000000000', { ...byNumber, header: false }],
    ['by position, without titles', '=A0,01000000000', { ...byPosition, header: false }],
  ])(
    '%s: the contacts come with their values, however many rounds it takes',
    async (_, first, options) => {
      const world = importWorld(redis);
      const rows = `${first}\n=A1,+821000000001\n"'=A2",+821000000002\nLee,01000000003\n`;
      const list = listFile(rows);
      const { rejectsFile: one = '' } = await world.import(list, options);
      // The first row is corrected, the second one is not.
      const half = listFile(readFileSync(one, 'utf8').replaceAll("'+821000000001", '01000000001'));
      const second = await world.import(half, options);
      expect(second).toMatchObject({ rows: 2, contacts: 1, refused: 1 });
      expect(await world.contacts(second.batch)).toStrictEqual([
        { contact: '01000000001', var1: '=A1' },
      ]);
      const { rejectsFile: two = '' } = second;
      expect(readFileSync(two, 'utf8').split('\n')[0]).toBe(
        readFileSync(one, 'utf8').split('\n')[0],
      );
      const rest = listFile(readFileSync(two, 'utf8').replaceAll("'+821000000002", '01000000002'));
      const third = await world.import(rest, options);
      expect(third).toMatchObject({ rows: 1, contacts: 1 });
      expect(await world.contacts(third.batch)).toStrictEqual([
        { contact: '01000000002', var1: "'=A2" },
      ]);
    },
  );

  it('of objects: each field once, with the reason of the last round', async () => {
    const world = importWorld(redis);
    const list = listFile('{"contact":"+82","var1":"a \\"x\\"","id":[1]}\n', 'list.ndjson');
    const { rejectsFile: one = '' } = await world.import(list);
    const half = listFile(
      readFileSync(one, 'utf8').replace('"contact":"+82"', '"contact":"?"'),
      'b.ndjson',
    );
    const { rejectsFile: two = '' } = await world.import(half);
    const text = readFileSync(two, 'utf8');
    expect(text.match(/rejected_reason/g)).toHaveLength(1);
    expect(text.endsWith(',"contact":"?","var1":"a \\"x\\"","id":[1]}\n')).toBe(true);
    expect(JSON.parse(text)).toMatchObject({
      rejected_row: 1,
      rejected_value: '?',
      rejected_reason: expect.stringMatching(/digits/) as unknown,
    });
  });

  it.each([
    ['csv', 'contact,var1\n01000000001,"고객"\n+82,"고객"\n'],
    ['ndjson', '{"contact":"01000000001","var1":"고객"}\n{"contact":"+82","var1":"고객"}\n'],
  ])(
    'of an EUC-KR list, as %s: it begins with a byte order mark, so it is read as UTF-8',
    async (ending, text) => {
      const world = importWorld(redis);
      // Read as EUC-KR, it would be other text without an error.
      const options = { encoding: 'euc-kr' } as const;
      const list = listFile(iconv.encode(text, 'cp949'), `list.${ending}`);
      const { rejectsFile = '' } = await world.import(list, options);
      const rejected = readFileSync(rejectsFile, 'utf8');
      expect(rejected.startsWith('\ufeff')).toBe(true);
      const name = `corrected.${ending}`;
      const corrected = listFile(rejected.replaceAll(/'?\+82/g, '01000000002'), name);
      const { batch } = await world.import(corrected, options);
      expect(await world.contacts(batch)).toStrictEqual([{ contact: '01000000002', var1: '고객' }]);
    },
  );
});

it('of a UTF-8 list it begins with one, for spreadsheets, and is imported', async () => {
  const world = importWorld(redis);
  // The first other character may come late.
  for (const name of ['Kim', '김']) {
    // More than is written at once.
    const rows = `${'+821000000001,Kim\n'.repeat(999)}+821000000001,${name}\n`;
    const list = listFile(`contact,var1\n01000000009,x\n${rows}`);
    const first = { allowImplausible: true, again: true };
    const { rejectsFile = '' } = await world.import(list, first);
    const rejected = readFileSync(rejectsFile, 'utf8');
    expect(rejected.lastIndexOf('\ufeff')).toBe(0);
    const corrected = listFile(rejected.replaceAll(/'?\+82\d+/g, '01000000002'));
    const report = await world.import(corrected, { again: true });
    expect(report).toMatchObject({ contacts: 1, duplicates: 999 });
    expect(await world.contacts(report.batch)).toEqual([{ contact: '01000000002', var1: 'Kim' }]);
  }
});

it.each([true, false])(
  'an import that was stopped is not continued with another choice of duplicates (%s)',
  async (allowDuplicates) => {
    const world = importWorld(redis);
    const file = listFile(`${csvList(1)}${csvList(350).slice(13)}`);
    expect(await world.stopped(file, 300, { allowDuplicates })).toMatchObject({ queued: 300 });
    const other = await failureOf(world.import(file, { allowDuplicates: !allowDuplicates }));
    expect(other).toMatchObject({
      code: 'BATCH_CONFLICT',
      message: expect.stringContaining('--allow-duplicates') as string,
    });
    const contacts = allowDuplicates ? 351 : 350;
    expect(await world.import(file, { allowDuplicates })).toMatchObject({
      resumed: true,
      contacts,
    });
  },
);

it.each([
  ['completed', (file: NewFile) => file.complete(false)],
  ['completed over another file', (file: NewFile) => file.complete(true)],
  ['discarded', (file: NewFile) => file.discard()],
])(
  'the unfinished file of another import of the same list is neither renamed nor removed: %s',
  async (_name, end) => {
    const target = path.join(temporaryFolder(), 'rejected.csv');
    const file = await NewFile.create(target);
    await file.write('ours\n');
    rmSync(partOf(target));
    writeFileSync(partOf(target), 'theirs\n');
    await expect(end(file)).rejects.toMatchObject({ code: 'EBUSY' });
    expect(readFileSync(partOf(target), 'utf8')).toBe('theirs\n');
    expect(() => statSync(target)).toThrow('ENOENT');
  },
);
