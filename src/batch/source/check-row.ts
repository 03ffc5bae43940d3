import { whyNotJson, whyNotText } from '../../contracts/parse-input.ts';
import { MAX_VALUE_LENGTH, VARIABLE_NAME } from '../../contracts/notice.ts';
import { checkNumber, type NumberRules, type Repair } from './check-number.ts';
import { FORBIDDEN_NAMES, type Columns } from './column-map.ts';
import { compareFields, titleOf, type FieldChoice } from './sent-columns.ts';

/** Result of checking a row: a contact, ready for the body of the send request, or a refusal. */
export type RowCheck = ContactRow | RowRefusal;

export interface ContactRow {
  readonly kind: 'contact';
  readonly number: string;
  readonly json: string;
  readonly repaired: readonly Repair[];
  /** Variables without a value, each with 1. */
  readonly empty?: readonly (readonly [name: string, rows: 1])[];
  /** Cells that are kept and not sent. */
  readonly kept?: readonly string[] | undefined;
}

export interface RowRefusal {
  readonly kind: 'refused';
  /** Title of the column, or name of the field; empty for the row as a whole. */
  readonly field: string;
  /** The invalid value. Only the rejects file may contain it: it may be personal data. */
  readonly value: string;
  /** What was expected, and what to do; contains no values. */
  readonly reason: string;
  /** Its number has the form of one, and no phone has it. */
  readonly implausible?: boolean;
}

const EMPTY = 'it is empty, and must not be (--require, in a program: require)';

/** Of a last row or line that is not whole. */
export const CUT = 'the list ends here without the end of a line, as a file does that was cut off';

/** Whether there is nothing to see in a text: nothing but blanks, format characters and the end mark of old systems. */
export const isBlank = (text: string) => BLANK.test(text) || text === '\u001a';
const BLANK = /^[\s\p{Cf}]*$/u;

/** Checks a row of cells. Hand-written: a schema would take four times as long. */
export function checkCells(cells: readonly string[], columns: Columns): RowCheck {
  if (cells.length !== columns.width) {
    const problem =
      cells.length < columns.width ? 'a cell is missing' : 'there is an extra delimiter';
    return refused(
      '',
      '',
      `expected ${columns.width} columns, got ${cells.length}: ${problem}, or a cell that contains a delimiter is not quoted`,
    );
  }
  const text = columns.unescape(cells[columns.contact.index] ?? '');
  const checked = checkNumber(text, columns.rules);
  if (checked.kind === 'refused') return refusedNumber(columns.contact.title, text, checked);
  const { number, repaired } = checked;
  let json = `{"contact":"${number}"`;
  const empty: [string, 1][] = [];
  for (const column of columns.others) {
    const value = columns.unescape(cells[column.index] ?? '');
    if (column.required && isBlank(value)) return refused(column.title, value, EMPTY);
    if (column.variable && isBlank(value)) empty.push([column.name, 1]);
    const problem = problemOfText(value, column.variable);
    if (problem !== undefined) return refused(column.title, value, problem);
    json += column.json + JSON.stringify(value);
  }
  const kept = columns.kept.map((index) => columns.unescape(cells[index] ?? ''));
  return { kind: 'contact', number, json: `${json}}`, repaired, ...moreOf(empty, kept) };
}

/** What few rows have. */
const moreOf = (empty: NonNullable<ContactRow['empty']>, kept: readonly string[]) => ({
  ...(empty.length === 0 ? {} : { empty }),
  ...(kept.length === 0 ? {} : { kept }),
});

/** Checks a contact object of an iterable or of a line of NDJSON. */
export function checkContact(
  contact: unknown,
  choice: FieldChoice,
  rules: NumberRules = {},
): RowCheck {
  if (typeof contact !== 'object' || contact === null || Array.isArray(contact)) {
    return refused(
      '',
      '',
      'expected a contact object, such as {"contact":"01012345678","var1":"..."}',
    );
  }
  const keptValues = new Map<string, string>();
  const fields = new Map<string, unknown>();
  for (const [key, value] of Object.entries(contact as Record<string, unknown>)) {
    const field = titleOf(key);
    if (FORBIDDEN_NAMES.has(field)) return refused(field, '', 'this field name is not allowed');
    if (value === undefined) continue;
    if (choice.kept.includes(field)) keptValues.set(field, textOf(value));
    for (const name of choice.namesOf(field)) {
      if (fields.has(name)) return refused(field, '', `there is another field for ${name}`);
      const problem = problemOfField(name, value);
      if (problem !== undefined) return refused(field, textOf(value), problem);
      fields.set(name, value);
    }
  }
  for (const [field, [name = '']] of choice.mapped) {
    if (!fields.has(name)) return refused(field, '', 'the field is missing; the map uses it');
  }
  const missing = choice.required.find((name) => isBlank(textOf(fields.get(name) ?? '')));
  if (missing !== undefined) return refused(missing, '', EMPTY);
  const text = fields.get('contact');
  if (typeof text !== 'string') {
    return refused('contact', textOf(text), 'expected a phone number as text, in quotes');
  }
  const checked = checkNumber(text, rules);
  if (checked.kind === 'refused') return refusedNumber('contact', text, checked);
  const { number, repaired } = checked;
  fields.delete('contact');
  let json = `{"contact":"${number}"`;
  // Field by field: as an object, fields with names such as "2" would come first, and the list would have another
  // identity than the same list in CSV.
  for (const [name, value] of [...fields].sort(([left], [right]) => compareFields(left, right))) {
    json += `,${JSON.stringify(name)}:${JSON.stringify(value)}`;
  }
  const empty = [...fields].flatMap(([name, value]): [string, 1][] =>
    VARIABLE_NAME.test(name) && isBlank(textOf(value)) ? [[name, 1]] : [],
  );
  const kept = choice.kept.map((name) => keptValues.get(name) ?? '');
  return { kind: 'contact', number, json: `${json}}`, repaired, ...moreOf(empty, kept) };
}

const refusedNumber = (
  field: string,
  value: string,
  { reason, implausible }: { readonly reason: string; readonly implausible: boolean },
): RowRefusal => ({ kind: 'refused', field, value, reason, implausible });

export function refused(field: string, value: string, reason: string): RowRefusal {
  return { kind: 'refused', field, value, reason };
}

function problemOfField(name: string, value: unknown): string | undefined {
  if (name === 'contact') return undefined;
  const variable = VARIABLE_NAME.test(name);
  if (typeof value === 'string') return problemOfText(value, variable);
  if (variable) return 'expected text, in quotes';
  return whyNotJson(value);
}

function problemOfText(value: string, variable: boolean): string | undefined {
  if (variable && value.length > MAX_VALUE_LENGTH) {
    return `expected at most ${MAX_VALUE_LENGTH} characters, got ${value.length}`;
  }
  return whyNotText(value);
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : jsonOf(value));

/** JSON of any value; empty if there is none, for example for a circular object. */
export function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return '';
  }
}
