import { checkContact, CUT, isBlank, jsonOf, refused } from './check-row.ts';
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
    let row = 0;
    for await (const contact of contacts) {
      const check = checkContact(contact, choice, rules);
      const original = check.kind === 'refused' ? jsonOf(contact) : undefined;
      batch.push({ row: ++row, line: row, check, original });
      if (batch.length < ROWS_PER_READ) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  }
  return { titles: undefined, columns: () => choice.columns(), rows: rows() };
}

/** Reads NDJSON: one contact object per line; empty lines are skipped, invalid ones are refused. */
export function readNdjson(
  text: AsyncIterable<Buffer>,
  choice: FieldChoice,
  rules: NumberRules = {},
): SourceReader {
  async function* rows(): AsyncGenerator<readonly SourceRow[], void> {
    let row = 0;
    for await (const { lines, isLast } of readLines(text)) {
      const batch: SourceRow[] = [];
      for (const line of lines) {
        row++;
        if (line !== undefined && isBlank(line)) continue;
        const check = line === undefined ? TOO_LONG : checkLine(line, isLast, choice, rules);
        const original = check.kind === 'refused' ? line : undefined;
        batch.push({ row, line: row, check, original });
      }
      if (batch.length > 0) yield batch;
    }
  }
  return { titles: undefined, columns: () => choice.columns(), rows: rows() };
}

const TOO_LONG = refused('', '', `the line is longer than ${MAX_ROW_LENGTH} characters`);
const NO_JSON =
  'expected one JSON object on the line, such as {"contact":"01012345678","var1":"..."}';

function checkLine(line: string, isLast: boolean, choice: FieldChoice, rules: NumberRules) {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return refused('', '', isLast ? `${NO_JSON}; ${CUT}` : NO_JSON);
  }
  return checkContact(value, choice, rules);
}

/**
 * Lines, several at a time; undefined for one that is too long, which is never held in memory as a whole. The last one
 * comes by itself if it has no end.
 */
async function* readLines(
  text: AsyncIterable<Buffer>,
): AsyncGenerator<{ readonly lines: readonly (string | undefined)[]; readonly isLast: boolean }> {
  const bounded = (line: string) => (line.length > MAX_ROW_LENGTH ? undefined : line);
  let rest: string | undefined = '';
  for await (const piece of text) {
    const [first = '', ...more] = piece.toString().split('\n');
    rest = rest === undefined ? undefined : bounded(rest + first);
    if (more.length === 0) continue;
    const last = more.pop() ?? '';
    yield { lines: [rest, ...more.map(bounded)], isLast: false };
    rest = bounded(last);
  }
  if (rest !== '') yield { lines: [rest], isLast: true };
}
