import {
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import { failureOf, importWorld, listFile } from '../support/import-world.ts';

const redis = testRedis();

describe('what lies where the file of refused rows goes', () => {
  const BAD = 'contact,var1\n01012345678,ok\nnobody,Park\n';
  const rejectedOf = (file: string) => `${file}.rejected.csv`;

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

it('a line nested 20,000 levels is one refused row', async () => {
  const world = importWorld(redis);
  const deep = `{"contact":"01012345678","var1":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
  const file = listFile(`${deep}\n{"contact":"01012345679"}\n`, 'list.ndjson');
  const report = await world.import(file, { passThrough: true });
  expect(report).toMatchObject({ contacts: 1, refused: 1 });
  const [line = ''] = readFileSync(report.rejectsFile ?? '', 'utf8').split('\n');
  expect(line).toMatch(/^\{"rejected_line":1,.*"contact":"01012345678","var1":\[\[/);
});
