import { CsvError, parse, type Parser } from 'csv-parse';
import { NoticeQueueError } from '../errors.ts';
import { checkCells } from './check-row.ts';
import { readColumns, type Columns, type FieldMap } from './column-map.ts';
import { csvError } from './csv-structure.ts';
import { MAX_ROW_LENGTH, type Reader, type SourceRow } from './source-row.ts';

/** How a CSV list is to be read. */
export interface CsvOptions {
  readonly delimiter: string;
  /** Whether its first row names the columns. */
  readonly header: boolean;
  readonly map?: FieldMap | undefined;
}

interface Record {
  readonly cells: readonly string[];
  /** The line it ends in. */
  readonly end: number;
}

/**
 * Reads a CSV list: quotes as in RFC 4180, any of the three ends of lines, empty lines skipped.
 *
 * @throws NoticeQueueError SOURCE_INVALID where there are no columns, or not the ones it needs, and
 * from the rows where the structure is broken
 */
export async function readCsv(text: AsyncIterable<string>, options: CsvOptions): Promise<Reader> {
  const records = readRecords(text, options.delimiter);
  let first: Record[] = [];
  while (first.length === 0) {
    const next = await records.next();
    if (next.done === true) {
      throw new NoticeQueueError('SOURCE_INVALID', 'The list is empty: there is no first row.');
    }
    first = next.value;
  }
  const columns = readColumns(first[0]?.cells ?? [], options);
  const begun = options.header ? first.slice(1) : first;
  async function* rows(): AsyncGenerator<readonly SourceRow[], void> {
    if (begun.length > 0) yield begun.map((record) => checked(record, columns));
    for await (const more of records) {
      if (more.length > 0) yield more.map((record) => checked(record, columns));
    }
  }
  return { titles: columns.titles, rows: rows() };
}

function checked({ cells, end }: Record, columns: Columns): SourceRow {
  const check = checkCells(cells, columns);
  if (check.kind === 'contact') return { line: end, check, original: undefined };
  return { line: end - breaksIn(cells), check, original: cells };
}

function breaksIn(cells: readonly string[]): number {
  return cells.reduce((sum, cell) => sum + (cell.match(/\r\n|\r|\n/g)?.length ?? 0), 0);
}

async function* readRecords(
  text: AsyncIterable<string>,
  delimiter: string,
): AsyncGenerator<Record[], void> {
  let records: Record[] = [];
  const parser = parse({
    bom: true,
    delimiter,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: MAX_ROW_LENGTH,
    on_record: (cells: string[], { lines }) => {
      records.push({ cells, end: lines });
      // Nothing goes on to the parser's readable side: a whole piece's records are handed on at once.
      return null;
    },
  });
  // The failure of a write reaches its caller.
  parser.on('error', () => {});
  const taken = () => {
    const batch = records;
    records = [];
    return batch;
  };
  for await (const piece of text) {
    await write(parser, piece);
    yield taken();
  }
  await write(parser, undefined);
  yield taken();
}

/** Resolves once the parser has taken the piece apart; `undefined` is the end. */
async function write(parser: Parser, piece: string | undefined): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      if (piece !== undefined) {
        parser.write(piece, (error) => (error ? reject(error) : resolve()));
        return;
      }
      parser.once('end', resolve);
      parser.once('error', reject);
      parser.resume();
      parser.end();
    });
  } catch (error) {
    throw inOurWords(error);
  }
}

const WORDS: Readonly<{ [code: string]: string }> = {
  CSV_QUOTE_NOT_CLOSED: 'a quote is opened before it and never closed',
  CSV_MAX_RECORD_SIZE: `the row is longer than ${MAX_ROW_LENGTH} characters, or a quote is never closed`,
  CSV_INVALID_CLOSING_QUOTE:
    'something follows the closing quote of a cell: double the quotes inside it',
  INVALID_OPENING_QUOTE:
    'there is a quote inside a cell that does not begin with one: put the cell into quotes and double the quote',
};

/** The parser's own messages show what stands in the cell. */
function inOurWords(error: unknown): unknown {
  if (!(error instanceof CsvError)) return error;
  const { code, lines, column } = error as { code: string; lines?: unknown; column?: unknown };
  const place = typeof column === 'number' ? column + 1 : 1;
  return csvError(Number(lines), place, WORDS[code] ?? `the row cannot be read (${code})`);
}
