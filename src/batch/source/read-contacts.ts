import { checkContact, refused } from './check-row.ts';
import type { NumberRules } from './check-number.ts';
import type { FieldChoice } from './sent-columns.ts';
import { MAX_ROW_LENGTH, type SourceReader, type SourceRow } from './source-row.ts';

/** Rows that are returned together. */
const ROWS_PER_READ = 250;

/** Reads a list of contact objects. */
export function readContacts(
  contacts: Iterable<object> | AsyncIterable<object>,
  choice: FieldChoice,
  rules: NumberRules = {},
): SourceReader {
  async function* rows(): AsyncGenerator<readonly SourceRow[], void> {
    let batch: SourceRow[] = [];
    let line = 0;
    for await (const contact of contacts) {
      batch.push(rowOf(++line, contact, choice, rules));
      if (batch.length < ROWS_PER_READ) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  }
  return { titles: undefined, columns: () => choice.columns(), rows: rows() };
}

/** Reads NDJSON: one contact object per line, which ends with LF, CRLF or CR; empty lines are skipped, invalid ones are refused. */
export function readNdjson(
  text: AsyncIterable<Buffer>,
  choice: FieldChoice,
  rules: NumberRules = {},
): SourceReader {
  async function* rows(): AsyncGenerator<readonly SourceRow[], void> {
    let line = 0;
    for await (const lines of readLines(text)) {
      const batch: SourceRow[] = [];
      for (const content of lines) {
        line++;
        if (content === TOO_LONG) {
          const reason = `the line is longer than ${MAX_ROW_LENGTH} characters`;
          batch.push({ row: line, line, check: refused('', '', reason), original: '' });
        } else if (content.trim() !== '') batch.push(parsedRow(line, content, choice, rules));
      }
      if (batch.length > 0) yield batch;
    }
  }
  return { titles: undefined, columns: () => choice.columns(), rows: rows() };
}

/** Marks a line that was skipped because it is too long. No line can contain a line break. */
const TOO_LONG = '\n';

/** Lines, several at a time; a line that is too long is never held in memory as a whole. */
async function* readLines(text: AsyncIterable<Buffer>): AsyncGenerator<string[], void> {
  let rest = '';
  let tooLong = false;
  let afterReturn = false;
  for await (const piece of text) {
    const all = piece.toString();
    const lines = (afterReturn && all.startsWith('\n') ? all.slice(1) : all).split(/\r\n|\r|\n/);
    afterReturn = all.endsWith('\r');
    const last = lines.pop() ?? '';
    if (lines.length > 0) {
      lines[0] = rest + (lines[0] ?? '');
      rest = '';
      if (tooLong) lines[0] = TOO_LONG;
      tooLong = false;
      yield lines.map((line) => (line.length > MAX_ROW_LENGTH ? TOO_LONG : line));
    }
    if (!tooLong) rest += last;
    if (rest.length > MAX_ROW_LENGTH) {
      tooLong = true;
      rest = '';
    }
  }
  if (tooLong) yield [TOO_LONG];
  else if (rest !== '') yield [rest];
}

function parsedRow(line: number, text: string, choice: FieldChoice, rules: NumberRules): SourceRow {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const reason =
      'expected one JSON object on the line, such as {"contact":"01012345678","var1":"..."}';
    return { row: line, line, check: refused('', '', reason), original: text };
  }
  const check = checkContact(value, choice, rules);
  return { row: line, line, check, original: check.kind === 'refused' ? text : undefined };
}

function rowOf(line: number, contact: unknown, choice: FieldChoice, rules: NumberRules): SourceRow {
  const check = checkContact(contact, choice, rules);
  return {
    row: line,
    line,
    check,
    original: check.kind === 'refused' ? jsonOf(contact) : undefined,
  };
}

/** JSON of any value; empty if there is none, for example for a circular object. */
function jsonOf(contact: unknown): string {
  try {
    return JSON.stringify(contact) ?? '';
  } catch {
    return '';
  }
}
