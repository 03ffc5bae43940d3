import type { NoticeQueueError } from '../../contracts/errors.ts';
import { checkContact, CUT, isBlank, jsonOf, refused } from './check-row.ts';
import type { NumberRules } from './check-number.ts';
import { describeColumns, invalidList } from './describe-columns.ts';
import { REJECTED_PREFIX, titleOf, type FieldChoice } from './sent-columns.ts';
import { MAX_ROW_LENGTH, type SourceReader, type SourceRow } from './source-row.ts';

/** Rows that are returned together. */
const ROWS_PER_READ = 250;
/** Rows of which at least one has a field for contact, or none has fields of its own. */
const MOST_SAMPLED = 20;

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

/**
 * Reads NDJSON: one contact object per line; empty lines are skipped, invalid ones are refused.
 *
 * @throws NoticeQueueError SOURCE_INVALID from `rows` if no object of the first rows has a field for contact
 */
export function readNdjson(
  text: AsyncIterable<Buffer>,
  choice: FieldChoice,
  rules: NumberRules = {},
): SourceReader {
  async function* rows(): AsyncGenerator<readonly SourceRow[], void> {
    let row = 0;
    let batch: SourceRow[] = [];
    /** Why the list is refused, while no row of the sample has a field for contact. */
    let problem: NoticeQueueError | undefined;
    let sampled = 0;
    for await (const { lines, isLast } of readLines(text)) {
      for (const line of lines) {
        row++;
        if (line !== undefined && isBlank(line)) continue;
        const value = line === undefined ? undefined : parsed(line);
        if (sampled < MOST_SAMPLED) {
          const fields = ownFields(value);
          const isFound = fields.some(([title]) => choice.namesOf(title).includes('contact'));
          if (isFound) problem = undefined;
          else if (fields.length > 0) problem ??= withoutContact(fields, row, rules);
          sampled = isFound ? MOST_SAMPLED : sampled + 1;
          if (problem !== undefined && sampled === MOST_SAMPLED) throw problem;
        }
        const check =
          value === undefined ? noObject(line, isLast) : checkContact(value, choice, rules);
        const original = check.kind === 'refused' ? line : undefined;
        batch.push({ row, line: row, check, original });
      }
      if (problem !== undefined || batch.length === 0) continue;
      yield batch;
      batch = [];
    }
    if (problem !== undefined) throw problem;
  }
  return { titles: undefined, columns: () => choice.columns(), rows: rows() };
}

const TOO_LONG = refused('', '', `the line is longer than ${MAX_ROW_LENGTH} characters`);
const NO_JSON =
  'expected one JSON object on the line, such as {"contact":"01012345678","var1":"..."}';

const noObject = (line: string | undefined, isLast: boolean) =>
  line === undefined ? TOO_LONG : refused('', '', isLast ? `${NO_JSON}; ${CUT}` : NO_JSON);

/** Undefined for what is no JSON. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Titles and values of an object, without what a rejects file added to it; none of anything else. */
function ownFields(value: unknown): (readonly [title: string, value: unknown])[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value)
    .map(([key, cell]) => [titleOf(key), cell] as const)
    .filter(([title]) => !title.startsWith(REJECTED_PREFIX));
}

function withoutContact(
  fields: ReturnType<typeof ownFields>,
  line: number,
  { country }: NumberRules,
): NoticeQueueError {
  const titles = fields.map(([title]) => title);
  const cells = fields.map(([, value]) => (typeof value === 'string' ? value : ''));
  const hint = describeColumns(titles, [], undefined, new Map([[line, cells]]), country);
  return invalidList(`Line ${line}: no field is sent as contact. ${hint}`);
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
