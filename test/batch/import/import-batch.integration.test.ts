import { appendFileSync, existsSync, readFileSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readChunkJob } from '../../../src/contracts/job.ts';
import { testRedis } from '../../support/redis.ts';
import { signal, until } from '../../support/wait.ts';
import { csvList, numberOf } from '../support/csv-list.ts';
import { failureOf, importWorld, listFile } from '../support/import-world.ts';

const redis = testRedis();

describe('an import', () => {
  it('makes chunks, jobs and a ledger that add up', async () => {
    const world = importWorld(redis);
    const file = listFile(csvList(250));
    const report = await world.import(file, { senderKey: 's', fields: { at: 'x' }, rate: 9 });
    expect(report).toMatchObject({
      rows: 250,
      contacts: 250,
      chunks: 3,
      duplicates: 0,
      refused: 0,
      resumed: false,
      dryRun: false,
    });
    expect(report.batch).toMatch(/^b-[\w-]{16}$/);
    const batch = await world.ledger.read(report.batch);
    expect(batch).toMatchObject({
      phase: 'sending',
      chunks: 3,
      queued: 3,
      rows: 250,
      rate: 9,
      bisect: true,
      templateCode: 'T',
      counts: { total: 250, pending: 250 },
    });
    const frame = await redis.client.hget(world.keys.batch(report.batch).record, 'frame');
    expect(JSON.parse(frame ?? '')).toStrictEqual({
      at: 'x',
      templateCode: 'T',
      scheduleType: 'DIRECTLY',
      senderKey: 's',
    });
    expect(await world.ledger.unsent()).toBe(250);
    expect((await world.contacts(report.batch)).map(({ contact }) => contact)).toStrictEqual(
      Array.from({ length: 250 }, (_, index) => numberOf(index)),
    );
    const ids = await world.jobIds();
    expect(ids).toStrictEqual([0, 1, 2].map((chunk) => `c-${report.batch}-${chunk}`));
    const data = await redis.client.hget(`${world.keys.bullPrefix}:chunks:${ids[1]}`, 'data');
    expect(readChunkJob(JSON.parse(data ?? ''))).toStrictEqual({
      v: 1,
      batch: report.batch,
      chunk: 1,
    });
    expect(existsSync(`${file}.rejected.csv`)).toBe(false);
  });

  it('has an id from which the numbers of a list cannot be guessed', async () => {
    const file = listFile(csvList(1));
    const [here, there] = [
      await importWorld(redis).import(file),
      await importWorld(redis).import(file),
    ];
    expect(here.batch).toMatch(/^b-[\w-]{16}$/);
    expect(there.batch).not.toBe(here.batch);
  });

  it('imports the first of equal numbers, in any notation, unless duplicates are allowed', async () => {
    const world = importWorld(redis);
    const file = listFile('contact\n01012345678\n010-1234-5678\n01011112222\n');
    expect(await world.import(file)).toMatchObject({
      contacts: 2,
      duplicates: 1,
      firstDuplicates: [3],
      normalised: 0,
    });
    expect(await world.import(file, { allowDuplicates: true, again: true })).toMatchObject({
      contacts: 3,
      duplicates: 0,
      normalised: 1,
    });
  });
});

it('a dry run reports what an import would do, without Redis', async () => {
  const away = importWorld(redis, { redis: { url: 'redis://127.0.0.1:1' } });
  const world = importWorld(redis);
  const file = listFile(csvList(250));
  const dry = await away.import(file, { dryRun: true });
  expect(dry).toMatchObject({ contacts: 250, chunks: 3, dryRun: true });
  expect(await redis.keys(away.prefix)).toStrictEqual([]);
  const real = await world.import(file);
  expect([dry.batch, dry.bytes]).toStrictEqual(['', real.bytes]);
});

describe('back-pressure', () => {
  it('waits above the high water with all jobs queued, and continues below it', async () => {
    const world = importWorld(redis);
    const waiting = signal();
    const running = world.import(listFile(csvList(1_000)), {
      highWater: 300,
      batchId: 'slow',
      onProgress: (progress) => progress.waiting === 'high-water' && waiting.resolve(),
    });
    await waiting.promise;
    expect(await world.ledger.unsent()).toBe(300);
    expect(await world.jobIds()).toHaveLength(3);
    // As if workers had sent them.
    const drain = () => redis.client.hset(world.keys.counts, 'unsent', 0);
    let isDone = false;
    const ended = running.finally(() => {
      isDone = true;
    });
    await until(async () => isDone || (await drain(), false), { what: 'the import to end' });
    await ended;
    expect(await running).toMatchObject({ contacts: 1_000, chunks: 10 });
  });

  it('ends when the batch is cancelled while contacts of another one leave no room', async () => {
    const world = importWorld(redis);
    await world.import(listFile(csvList(300)), { batchId: 'other' });
    const failure = await failureOf(
      world.import(listFile(csvList(200)), {
        highWater: 300,
        batchId: 'mine',
        signal: AbortSignal.timeout(10_000),
        onProgress: ({ waiting }) => waiting && void world.ledger.control('mine', 'cancel'),
      }),
    );
    expect(failure.code).toBe('BATCH_CANCELLED');
    expect(await world.ledger.unsent()).toBe(300);
  });
});

it('the file of refused rows has line, field, value, reason and the row, and can be imported once corrected', async () => {
  const rows =
    'contact,var1\n01012345678,ok\n+821012345678,"=cmd, ""x"""\n1.01E+09,\'=y\n01000000101\n"x\ny",-3\n';
  const world = importWorld(redis);
  const file = listFile(rows);
  const report = await world.import(file);
  expect(report).toMatchObject({ contacts: 1, refused: 4, rejectsFile: `${file}.rejected.csv` });
  expect(report.firstRefused.map(({ line, field }) => [line, field])).toStrictEqual([
    [3, 'contact'],
    [4, 'contact'],
    [5, ''],
    [6, 'contact'],
  ]);
  const text = readFileSync(`${file}.rejected.csv`, 'utf8');
  const lines = text.split('\n');
  // With the mark by which spreadsheets know UTF-8.
  expect(lines[0]).toBe(
    '\uFEFF"rejected_row","rejected_field","rejected_value","rejected_reason","contact","var1"',
  );
  expect(lines[1]).toMatch(
    /^"3","contact","'\+821012345678",".*plus sign.*","'\+821012345678","'=cmd, ""x"""$/,
  );
  expect(statSync(`${file}.rejected.csv`).mode & 0o777).toBe(0o600);
  const corrected = listFile(
    text
      .replaceAll("'+821012345678", '01011110000')
      .replaceAll('1.01E+09', '01022220000')
      .replace(/^"5",.*$/m, ''),
  );
  const again = await world.import(corrected);
  expect(again).toMatchObject({ contacts: 2, refused: 1 });
  expect(await world.contacts(again.batch)).toStrictEqual([
    { contact: '01011110000', var1: '=cmd, "x"' },
    { contact: '01022220000', var1: "'=y" },
  ]);
});

const changing = {
  file: () => {
    const file = listFile(csvList(50));
    return { list: file, change: () => appendFileSync(file, '01099990000,new\n') };
  },
  array: () => {
    const list = Array.from({ length: 50 }, (_, row) => ({ contact: `010${10_000_000 + row}` }));
    return { list, change: () => void list.push({ contact: '01099990000' }) };
  },
};
it.each(['file', 'array'] as const)(
  'a list (%s) that changes while it is read is detected before its last chunk is stored: nothing of a short list is queued',
  async (kind) => {
    const { list, change } = changing[kind]();
    const world = importWorld(redis);
    const confirm = () => {
      change();
      return Promise.resolve(true);
    };
    const failure = await failureOf(world.import(list, { batchId: 'short', confirm }));
    expect(failure.code).toBe('SOURCE_INVALID');
    expect(failure.message).toMatch(/changed during the import.* 0 contacts are already queued/);
    expect(await world.ledger.read('short')).toMatchObject({ chunks: 0, counts: { total: 0 } });
    expect(await world.jobIds()).toEqual([]);
  },
);
