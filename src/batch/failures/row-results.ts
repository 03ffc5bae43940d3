import { NoticeQueueError } from '../../contracts/errors.ts';
import { rangesOf } from '../../payload/row-numbers.ts';
import { CONTACT_STATES, type Batch } from '../ledger/batch-record.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { BYTE_ORDER_MARK, csvLine, writePieces } from './csv-line.ts';
import { openChunks, tracesOf } from './failures.ts';

/** What became of a row: a state of its contact, or why the import made none of it. */
export const RESULT_STATES = [...CONTACT_STATES, 'refused', 'duplicate'] as const;

type ResultState = (typeof RESULT_STATES)[number];

/** Rows of a list, one after the other, with the same result. */
export interface RowResult {
  readonly from: number;
  readonly to: number;
  readonly state: ResultState;
  /** Of what was not accepted. */
  readonly code: string;
  readonly message: string;
  /** Milliseconds since the epoch; 0 for what waits. */
  readonly at: number;
  /** Of the service; empty where it named none. */
  readonly traceId: string;
}

type Why = Omit<RowResult, 'from' | 'to'>;

export interface ListResults {
  readonly results: readonly RowResult[];
  /** Rows of the list, as the import counted them. */
  readonly rows: number;
  /** Rows of `results`: fewer where contacts cannot be decrypted. */
  readonly found: number;
}

/**
 * Contacts move from a chunk to a failure or are settled while they are read: then all is read once more, until two
 * reads agree.
 */
const MOST_READS = 5;
const PARTS_PER_READ = 200;

/** What became of each row of a list. @param rowsOf the rows of a stored payload @throws NoticeQueueError */
export async function rowResults(
  ledger: Ledger,
  batch: Batch,
  rowsOf: (payload: Buffer) => Promise<string>,
  signal?: AbortSignal,
): Promise<ListResults> {
  let before: readonly RowResult[] | undefined;
  for (let read = 1; ; read++) {
    const now = (await ledger.read(batch.id)) ?? batch;
    const { counts, importedAt, refusedRows, duplicateRows } = now;
    const rows = counts.total + (importedAt === 0 ? 0 : refusedRows + duplicateRows);
    const results: RowResult[] = [];
    const add = (text: string, why: Why) => {
      for (const [from, to] of rangesOf(text)) results.push({ from, to, ...why });
    };
    for await (const line of ledger.ends(batch.id)) {
      requireTime(signal);
      const [state = '', time, trace = '', of = '', sent] = line.split(' ');
      const traceId = trace === '-' ? '' : trace;
      const code = state === 'suppressed' ? 'SUPPRESSED' : '';
      const message = sent === undefined ? '' : 'an earlier attempt may have arrived';
      add(of, { state: state as ResultState, at: Number(time), traceId, code, message });
    }
    const names: string[] = [];
    const whys: Why[] = [];
    for await (const { name, state, code, message, at } of ledger.failures(batch.id)) {
      names.push(name);
      whys.push({ state, code, message, at, traceId: tracesOf(message) });
    }
    for await (const { name, ...chunk } of openChunks(ledger, now)) {
      names.push(name);
      whys.push({ ...chunk, traceId: '' });
    }
    for (let from = 0; from < names.length; from += PARTS_PER_READ) {
      requireTime(signal);
      const some = await ledger.payloads(batch.id, names.slice(from, from + PARTS_PER_READ));
      for (const [index, payload] of some.entries()) {
        const why = whys[from + index];
        if (payload !== null && why !== undefined) add(await rowsOf(payload), why);
      }
    }
    const found = results.reduce((sum, { from, to }) => sum + to - from + 1, 0);
    results.sort((one, other) => one.from - other.from);
    // What is missing in two reads cannot be decrypted.
    if (found === rows || read === MOST_READS || haveSameRows(before, results)) {
      return { results, rows, found };
    }
    before = results;
  }
}

function haveSameRows(one: readonly RowResult[] | undefined, other: readonly RowResult[]): boolean {
  return (
    one?.length === other.length &&
    one.every(({ from, to }, index) => from === other[index]?.from && to === other[index].to)
  );
}

function requireTime(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  const advice = 'over HTTP a large one takes too long: its results as CSV have no limit of time';
  throw new NoticeQueueError('NOT_POSSIBLE', `Stopped before all of the list was read; ${advice}.`);
}

const TITLES = ['result_state', 'result_code', 'result_reason', 'result_at', 'result_trace_id'];

/**
 * Writes the results as CSV, one line for each row.
 *
 * @param records of the caller's own file: rows without a result before the first one are titles
 * @returns how many rows were written
 */
export async function writeResults(
  { results }: ListResults,
  records: AsyncIterable<{ readonly row: number; readonly cells: readonly string[] }> | undefined,
  write: (text: string) => Promise<boolean>,
): Promise<number> {
  let rows = 0;
  const lines = async function* () {
    yield BYTE_ORDER_MARK;
    if (records === undefined) yield csvLine(['row', ...TITLES]);
    let at = 0;
    for await (const { row, cells } of records ?? plainRows(results)) {
      while (at < results.length && (results[at]?.to ?? 0) < row) at++;
      const found = results[at];
      const result = found !== undefined && found.from <= row ? found : undefined;
      if (result === undefined && rows === 0) {
        yield csvLine([...cells, 'row', ...TITLES]);
        continue;
      }
      rows += 1;
      yield csvLine([...cells, String(row), ...cellsOf(result)]);
    }
  };
  await writePieces(lines(), write);
  return rows;
}

function cellsOf(result: RowResult | undefined): string[] {
  if (result === undefined) return ['', '', '', '', ''];
  const { state, code, message, at, traceId } = result;
  return [state, code, message, at === 0 ? '' : new Date(at).toISOString(), traceId];
}

// eslint-disable-next-line @typescript-eslint/require-await
async function* plainRows(results: readonly RowResult[]) {
  for (const { from, to } of results) {
    for (let row = from; row <= to; row++) yield { row, cells: [] };
  }
}
