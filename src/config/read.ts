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
  /** Parts of the configuration that the program can do without: what is invalid there has its default. */
  readonly unused?: readonly Section[];
}

export interface Reading {
  readonly from: 'default' | 'environment' | 'file';
  /** The variable's text or, for `file`, the content of that file; absent for a default. */
  readonly text?: string;
  /** The value; undefined when it is not set and has no default, and when there is an issue. */
  readonly value?: unknown;
  readonly issue?: InputIssue;
}

/**
 * Reads every variable and checks every rule. Throws nothing, and changes no variable. The values are valid only where
 * there are no issues.
 */
export function readEnvironment(
  environment: Environment = processEnvironment(),
  { service = true, unused = [] }: ReadOptions = {},
) {
  const unneeded = new Set(unused.flatMap(rowsOf));
  const readings = new Map<VariableName, Reading>(
    ROWS.map((row) => {
      const reading = readVariable(row, environment, service);
      const isLeftOut = unneeded.has(row) && reading.issue !== undefined;
      return [row.variable, isLeftOut ? { from: 'default', value: defaultOf(row) } : reading];
    }),
  );
  const values = Object.fromEntries(
    [...readings].map(([name, { value }]) => [name, value]),
  ) as Values;
  const invalid = [...readings].flatMap(([name, { issue }]) => (issue === undefined ? [] : name));
  const unchecked = ROWS.filter((row) => unneeded.has(row)).map(({ variable }) => variable);
  const broken = brokenRules(values, new Set([...invalid, ...unchecked]), environment);
  const issues = [...readings.values()].flatMap(({ issue }) => issue ?? []);
  return { readings, values, issues: [...issues, ...broken] };
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

/** Reads the file whose path is the value of the variable. */
function readFileOf(row: Row, path: string): Reading {
  const found = { from: 'environment', text: path } as const;
  const file = readText(path);
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

function validate(row: Row, given: string, from: Reading['from']): Reading {
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

function readText(path: string): { readonly text: string } | { readonly problem: string } {
  try {
    return { text: readFileSync(path, 'utf8') };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return { problem: `expected a readable file, cannot read ${showPath(path)} (${code})` };
  }
}
