import { readFileSync } from 'node:fs';
import type { InputIssue } from '../contracts/errors.ts';
import { isBlank, processEnvironment, type Environment } from './environment.ts';
import { showInvalid, showPath } from './mask.ts';
import { brokenRules } from './rules.ts';
import { defaultOf, metadataOf, parseText, type Row } from './variable.ts';
import { ROWS, rowsOf, type Section, type Values, type VariableName } from './variables.ts';

/** Options of reading the configuration. */
export interface ReadOptions {
  /**
   * Whether BASE_URL, ACCESS_KEY and SECRET_KEY are required. Producers and commands that do not
   * call the messaging service pass false.
   *
   * @default true
   */
  readonly service?: boolean;
  /** Parts of the configuration that the program does not use: whatever their variables say, they have the defaults. */
  readonly unused?: readonly Section[];
}

/** Where a value comes from. */
export type Origin = 'default' | 'environment' | 'file';

/** What was found for one variable. */
export interface Reading {
  readonly from: Origin;
  /** The variable's text or, for `file`, the content of that file; absent for a default. */
  readonly text?: string;
  /** The value; undefined when it is not set and has no default, and when there is an issue. */
  readonly value?: unknown;
  readonly issue?: InputIssue;
}

/** The whole environment, read and validated. */
export interface Readings {
  readonly readings: ReadonlyMap<VariableName, Reading>;
  /** Valid only when there are no issues. */
  readonly values: Values;
  /** Every invalid value and every broken rule. */
  readonly issues: readonly InputIssue[];
  /** The variables that are not known and probably mistyped. */
  readonly mistyped: readonly MistypedVariable[];
}

/** Reads every variable and checks every rule. Throws nothing, and changes no variable. */
export function readEnvironment(
  environment: Environment = processEnvironment(),
  { service = true, unused = [] }: ReadOptions = {},
): Readings {
  const unread = new Set(unused.flatMap(rowsOf));
  const readings = new Map<VariableName, Reading>(
    ROWS.map((row) => [
      row.variable,
      unread.has(row)
        ? { from: 'default', value: defaultOf(row) }
        : readVariable(row, environment, service),
    ]),
  );
  const values = Object.fromEntries(
    [...readings].map(([name, { value }]) => [name, value]),
  ) as Values;
  const invalid = new Set<VariableName>();
  const issues: InputIssue[] = [];
  for (const [name, { issue }] of readings) {
    if (issue === undefined) continue;
    invalid.add(name);
    issues.push(issue);
  }
  return {
    readings,
    values,
    issues: [...issues, ...brokenRules(values, invalid, environment)],
    mistyped: mistypedVariables(environment),
  };
}

function readVariable(row: Row, environment: Environment, service: boolean): Reading {
  const name = row.variable;
  const { secret, readsPath, required, expected } = metadataOf(row);
  const text = environment[name];
  const path = secret === undefined ? undefined : environment[`${name}_FILE`];
  if (!isBlank(path)) {
    if (isBlank(text)) return readSecretFile(row, path.trim());
    const problem = `is set together with ${name}_FILE: set only one of the two`;
    return { from: 'environment', issue: { field: name, problem } };
  }
  if (!isBlank(text)) {
    return readsPath === true ? readFileOf(row, text.trim()) : validate(row, text, 'environment');
  }
  if (required === true && service) {
    const how = secret === undefined ? '' : `; set it or ${name}_FILE`;
    const problem = `expected ${expected}, got nothing${how}`;
    return { from: 'default', issue: { field: name, problem } };
  }
  return { from: 'default', value: defaultOf(row) };
}

/** Reads `NAME_FILE`. Editors end a file with a newline that is not part of the secret. */
function readSecretFile(row: Row, path: string): Reading {
  const field = `${row.variable}_FILE`;
  const file = readText(path);
  if ('problem' in file) return { from: 'file', issue: { field, problem: file.problem } };
  const text = file.text.replace(/[\r\n]+$/, '');
  if (isBlank(text)) {
    const problem = `expected a file that holds the value, but ${showPath(path)} is empty`;
    return { from: 'file', issue: { field, problem } };
  }
  return validate(row, text, 'file');
}

/** Reads the file whose path is the value of the variable; of several, separated by commas, one after the other. */
function readFileOf(row: Row, path: string): Reading {
  const found = { from: 'environment', text: path } as const;
  const file = readTexts(path.split(','));
  if ('problem' in file) {
    return { ...found, issue: { field: row.variable, problem: file.problem } };
  }
  const parsed = parseText(row, file.text);
  if (parsed.success) return { ...found, value: parsed.data };
  const { expected } = metadataOf(row);
  const details = parsed.error.issues.map(({ path: at, message }) =>
    at.length === 0 ? message : `${at.map(String).join('.')}: ${message}`,
  );
  const isOther = details.includes(`expected ${expected}`);
  const what = isOther ? 'holds none' : `is invalid: ${details.join('; ')}`;
  const problem = `expected ${expected}, but ${showPath(path)} ${what}`;
  return { ...found, issue: { field: row.variable, problem } };
}

function validate(row: Row, given: string, from: Origin): Reading {
  const name = row.variable;
  const { secret, expected } = metadataOf(row);
  // A space at either end of a secret may belong to it; its pattern decides.
  const text = secret === 'value' ? given : given.trim();
  const parsed = parseText(row, text);
  if (parsed.success) return { from, text, value: parsed.data };
  const where = from === 'file' ? ` in the file of ${row.variable}_FILE` : '';
  const problem = `expected ${expected}, got ${showInvalid(row, text)}${where}`;
  return { from, text, issue: { field: name, problem } };
}

type FileText = { readonly text: string } | { readonly problem: string };

function readTexts(paths: readonly string[]): FileText {
  const files = paths.map((path) => readText(path.trim()));
  const bad = files.find((file) => 'problem' in file);
  return bad ?? { text: files.map((file) => ('text' in file ? file.text : '')).join('\n') };
}

function readText(path: string): FileText {
  try {
    return { text: readFileSync(path, 'utf8') };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return { problem: `expected a readable file, cannot read ${showPath(path)} (${code})` };
  }
}

/** A variable that is set and not known, and whose name is nearly that of one that is. */
export interface MistypedVariable {
  readonly given: string;
  readonly meant: string;
}

const KNOWN: ReadonlySet<string> = new Set(
  ROWS.flatMap((row) => {
    const name = row.variable;
    return metadataOf(row).secret === undefined ? [name] : [name, `${name}_FILE`];
  }),
);

/** Variables of other programs that are near one of ours: OpenSSL reads it on every machine with own authorities. */
const OF_OTHERS: ReadonlySet<string> = new Set(['SSL_CERT_FILE']);

/** Shorter names have too many neighbours that mean something else. */
const SHORTEST = 6;
/** From this length on, two letters may be wrong. */
const LONG = 10;

/** The variables of an environment that are probably mistyped: one letter is wrong, or two of a long name. */
export function mistypedVariables(environment: Environment): MistypedVariable[] {
  return Object.keys(environment).flatMap((given) => {
    if (KNOWN.has(given) || OF_OTHERS.has(given)) return [];
    if (given.length < SHORTEST || !/^[A-Z][A-Z0-9_]*$/.test(given)) return [];
    const most = given.length < LONG ? 1 : 2;
    const meant = [...KNOWN].find((name) => isWithin(given, name, most));
    return meant === undefined ? [] : [{ given, meant }];
  });
}

/** Logs a warning for each of them. */
export function warnOfMistyped(
  logger: { warn(fields: object, message: string): void },
  mistyped: readonly MistypedVariable[],
): void {
  for (const variable of mistyped) {
    logger.warn({ event: 'mistyped-variable', ...variable }, mistypedWarning(variable));
  }
}

/** The warning for the terminal and the log. */
export function mistypedWarning({ given, meant }: MistypedVariable): string {
  return `${given} is not read by this program: did you mean ${meant}?`;
}

/** Whether so many letters that are added, missing, replaced or swapped with the next make the difference. */
function isWithin(one: string, other: string, most: number): boolean {
  if (Math.abs(one.length - other.length) > most) return false;
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      let least = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
      );
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (isSwapped) least = Math.min(least, (beforeLast[column - 2] ?? 0) + 1);
      current.push(least);
    }
    [beforeLast, last] = [last, current];
  }
  return (last[other.length] ?? 0) <= most;
}
