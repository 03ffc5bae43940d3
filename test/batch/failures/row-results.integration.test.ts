import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { allFailed } from '../../../src/batch/ledger/settlement.ts';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import { rowResults, writeResults } from '../../../src/batch/failures/row-results.ts';
import { openChunks } from '../../../src/batch/failures/failures.ts';
import {
  decodeContacts,
  encodeContacts,
  rowsOfContacts,
  rowsOfPayload,
} from '../../../src/payload/chunk-payload.ts';
import { testRedis } from '../../support/redis.ts';
import { openBatch } from '../support/batch-bench.ts';
import { numberOf } from '../support/csv-list.ts';
import { importWorld, listFile } from '../support/import-world.ts';

const redis = testRedis();

/** Rows 2 to 11: row 5 repeats row 2, row 7 is refused, and the cells of row 3 and 8 have line breaks. */
const LIST = [
  'contact,var1,customerNo',
  `${numberOf(1)},a,C1`,
  `${numberOf(2)},"b\nb",C2`,
  `${numberOf(3)},c,C3`,
  `${numberOf(1)},d,C4`,
  `${numberOf(5)},e,C5`,
  'x,f,C6',
  `${numberOf(7)},"g\ng",C7`,
  `${numberOf(8)},h,C8`,
  `${numberOf(9)},i,C9`,
  `${numberOf(10)},j,C10`,
  '',
].join('\n');

async function imported(chunkSize: number) {
  const world = importWorld(redis);
  const { ledger, keys } = world;
  const report = await world.import(listFile(LIST), { batchId: 'b', chunkSize });
  const read = async () => {
    const batch = await ledger.read('b');
    if (batch === undefined) throw new Error('there is no batch');
    const found = await rowResults(ledger, batch, (payload) => rowsOfPayload(payload));
    expect(found).toMatchObject({ rows: 10, found: 10 });
    const states = found.results.flatMap(({ from, to, state }) =>
      Array.from({ length: to - from + 1 }, (_, index) => `${from + index} ${state}`),
    );
    return { found, states: states.map((text) => text.split(' ')[1]) };
  };
  const claim = async (chunk: number) => {
    const lock = { key: keys.chunkLock(`c-b-${chunk}`), token: 'worker' };
    await redis.client.set(lock.key, lock.token);
    const claimed = await ledger.claim('b', chunk, 'a', lock);
    if (claimed.kind !== 'send') throw new Error(claimed.kind);
    return decodeContacts(claimed.payload);
  };
  return { ...world, report, read, claim };
}

it('refused rows and duplicates are named by the row of a spreadsheet, with the line of the text', async () => {
  const { report } = await imported(4);
  expect(report.firstRefused).toMatchObject([{ row: 7, line: 8 }]);
  expect(report.reasons).toMatchObject([{ rows: [7] }]);
  expect(report.firstDuplicates).toEqual([5]);
});

it('each row of a list has one result at every look, whatever becomes of its chunk', async () => {
  const { ledger, read, claim } = await imported(4);
  const P = 'pending';
  const [waits, no] = [P, 'refused'];
  expect((await read()).states).toEqual([P, P, P, 'duplicate', P, no, P, P, P, P]);

  /** Halves a chunk. */
  const halve = async (chunk: number, one: readonly unknown[], other: readonly unknown[]) => {
    const payloads = [await encodeContacts(one), await encodeContacts(other)] as const;
    await ledger.halve('b', chunk, 'a', one.length, payloads);
  };
  const accept = async (chunk: number, traceId: string) => {
    const rows = rowsOfContacts(await claim(chunk));
    await ledger.settle('b', chunk, 'a', { kind: 'accepted', rows, traceId });
  };
  const reject = async (chunk: number) => {
    await claim(chunk);
    await ledger.settle('b', chunk, 'a', allFailed('rejected', 'C', 'no'));
  };
  const [one, two, three, five] = await claim(0);
  expect((await read()).states).toContain(waits);
  await halve(0, [one, five], [two, three]);
  await accept(2, 't-1');
  await claim(3);
  await halve(3, [two], [three]);
  await reject(5);
  const first = await read();
  const states = ['accepted', P, 'rejected', 'duplicate', 'accepted', no, P, P, P, P];
  expect(first.states).toEqual(states);
  expect(first.found.results[0]).toMatchObject({ from: 2, to: 2, traceId: 't-1' });
  expect(first.found.results[2]).toMatchObject({ from: 4, code: 'C', message: 'no' });

  // Halved, one half accepted, the other rejected by its last attempt and decided on.
  const second = await claim(1);
  await halve(1, second.slice(0, 2), second.slice(2));
  await accept(6, '');
  await reject(7);
  states.splice(6, 4, 'accepted', 'accepted', 'rejected', 'rejected');
  expect((await read()).states).toEqual(states);
  await ledger.redrive('b', '5', 'rejected');
  await ledger.resolve('b', '7', 'accepted', 'rejected', '10-11');
  states.splice(2, 1, P);
  states.splice(8, 2, 'accepted', 'accepted');
  expect((await read()).states).toEqual(states);

  await ledger.control('b', 'cancel');
  const batch = await ledger.read('b');
  if (batch === undefined) throw new Error('there is no batch');
  for await (const { state } of openChunks(ledger, batch)) expect(state).toBe('cancelled');
  const { found, states: ended } = await read();
  expect(ended).toEqual(states.map((state) => (state === P ? 'cancelled' : state)));

  let text = '';
  const rows = await writeResults(found, undefined, (piece) => {
    text += piece;
    return Promise.resolve(true);
  });
  expect([rows, text.split('\n')[0]]).toEqual([
    10,
    '\ufeff"row","result_state","result_code","result_reason","result_at","result_trace_id"',
  ]);
  expect(text).toMatch(/^"2","accepted","","","20.*Z","t-1"$/m);
});

it('rows that cannot be read are looked for twice, and not where the time is over', async () => {
  const { keys, ledger } = await imported(4);
  const batch = await ledger.read('b');
  if (batch === undefined) throw new Error('there is no batch');
  let reads = 0;
  const counting = new (class extends Ledger {
    override failures(id: string) {
      reads += 1;
      return super.failures(id);
    }
  })(redis.client, keys);
  const none = () => Promise.resolve('');
  expect(await rowResults(counting, batch, none)).toMatchObject({ rows: 10, found: 2 });
  expect(reads).toBe(2);
  const stopped = rowResults(counting, batch, none, AbortSignal.abort());
  await expect(stopped).rejects.toMatchObject({ code: 'NOT_POSSIBLE' });
});

it.each([
  [1_000, 0.2],
  [40, 4],
])('the results of chunks of %i cost at most %f bytes a contact', async (size, most) => {
  const chunks = Array.from({ length: 150 }, () => size);
  const bench = await openBatch(redis, { chunkSize: size }, chunks);
  for (const chunk of chunks.keys()) {
    const rows = `${chunk * size + 2}-${chunk * size + size + 1}`;
    await bench.settleNew(chunk, { kind: 'accepted', rows, traceId: randomUUID() });
  }
  const { sizes } = bench.keys.batch(bench.id);
  const bytes = Number(await redis.client.memory('USAGE', sizes, 'SAMPLES', 0));
  expect(bytes).toBeGreaterThan(0);
  expect(bytes / (chunks.length * size)).toBeLessThanOrEqual(most);
});

it('results begin with a byte order mark, for spreadsheets', async () => {
  const { read } = await imported(4);
  const { found } = await read();
  for (const name of ['Kim', '김']) {
    const pieces: string[] = [];
    // eslint-disable-next-line @typescript-eslint/require-await
    const records = async function* () {
      yield { row: 1, cells: ['name'] };
      yield { row: 2, cells: [name] };
    };
    await writeResults(found, records(), (piece) => Promise.resolve(pieces.push(piece) > 0));
    expect(pieces.join('')).toMatch(new RegExp(`^\ufeff"name","row".*\n"${name}","2","pending"`));
  }
});
