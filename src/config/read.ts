import { readFileSync } from 'node:fs';
import type { InputIssue } from '../contracts/errors.ts';
import { processEnvironment, type Environment } from './environment.ts';
import { showPath, showWrongText } from './mask.ts';
import { expected, readsFile, type AnyValue, type Option } from './option.ts';
import { OPTION_NAMES, optionOf, type OptionName, type Values } from './options.ts';
import { brokenRules } from './rules.ts';
import { fileSchema, textSchema } from './schema.ts';

/** Who asks for the configuration. */
export interface ReadOptions {
  /**
   * Whether the messaging service will be called, so that BASE_URL, ACCESS_KEY and SECRET_KEY
   * must be set. A producer says false.
   *
   * @default true
   */
  readonly service?: boolean;
}

/** Where a value comes from. */
export type Origin = 'default' | 'environment' | 'file';

/** What was found for one option. */
export interface Reading {
  readonly name: OptionName;
  readonly from: Origin;
  /** The text that stands for it: the variable's, or for `file` the file's; absent for a default. */
  readonly text?: string;
  /** The value; undefined when it is not set and has no default, and when there is an issue. */
  readonly value?: AnyValue;
  readonly issue?: InputIssue;
}

/** The whole environment, read and judged. */
export interface Readings {
  readonly readings: readonly Reading[];
  /** To be trusted only when there is no issue. */
  readonly values: Values;
  /** Every wrong value and every broken rule. */
  readonly issues: readonly InputIssue[];
}

/** Reads every option and applies every rule; throws nothing, and changes no variable. */
export function readEnvironment(
  environment: Environment = processEnvironment(),
  options: ReadOptions = {},
): Readings {
  const forService = options.service ?? true;
  const readings = OPTION_NAMES.map((name) => readOption(name, environment, forService));
  const values = Object.fromEntries(readings.map(({ name, value }) => [name, value])) as Values;
  const wrong = new Set(readings.filter(({ issue }) => issue).map(({ name }) => name));
  const issues = readings.flatMap(({ issue }) => issue ?? []);
  return { readings, values, issues: [...issues, ...brokenRules(values, wrong, environment)] };
}

function readOption(name: OptionName, environment: Environment, forService: boolean): Reading {
  const option = optionOf(name);
  const text = textOf(environment[name]);
  const path = readsFile(option) ? textOf(environment[`${name}_FILE`]) : undefined;
  if (path !== undefined && text !== undefined) {
    const problem = `is set together with ${name}_FILE: set only one of the two`;
    return { name, from: 'environment', issue: { field: name, problem } };
  }
  if (path !== undefined) return readSecretFile(name, option, path.trim());
  if (text !== undefined) {
    return option.kind === 'file'
      ? readCertificates(name, option, text.trim())
      : judge(name, option, text, 'environment');
  }
  if (option.required === 'service' && forService) {
    const how = readsFile(option) ? `; set it or ${name}_FILE` : '';
    const problem = `expected ${expected(option)}, got nothing${how}`;
    return { name, from: 'default', issue: { field: name, problem } };
  }
  return { name, from: 'default', value: 'default' in option ? option.default : undefined };
}

/** A blank variable is one that is not set: that is how compose files and CI leave one out. */
function textOf(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === '' ? undefined : text;
}

/** Reads `NAME_FILE`. Editors end a file with a newline that is not part of the secret. */
function readSecretFile(name: OptionName, option: Option, path: string): Reading {
  const field = `${name}_FILE`;
  const file = readText(path);
  if ('problem' in file) return { name, from: 'file', issue: { field, problem: file.problem } };
  const text = file.text.replace(/[\r\n]+$/, '');
  if (text.trim() === '') {
    const problem = `expected a file that holds the value, but ${showPath(path)} is empty`;
    return { name, from: 'file', issue: { field, problem } };
  }
  return judge(name, option, text, 'file');
}

function readCertificates(
  name: OptionName,
  option: Extract<Option, { kind: 'file' }>,
  path: string,
): Reading {
  const from = 'environment';
  const file = readText(path);
  if ('problem' in file) {
    return { name, from, text: path, issue: { field: name, problem: file.problem } };
  }
  const parsed = fileSchema(option).safeParse(file.text);
  if (parsed.success) return { name, from, text: path, value: parsed.data };
  const problem = `expected ${expected(option)}, but ${showPath(path)} holds none`;
  return { name, from, text: path, issue: { field: name, problem } };
}

function judge(name: OptionName, option: Option, given: string, from: Origin): Reading {
  // A space at the end of a secret may belong to it; its pattern decides.
  const text = option.kind === 'secret' ? given : given.trim();
  const parsed = textSchema(option).safeParse(text);
  if (parsed.success) return { name, from, text, value: parsed.data };
  const where = from === 'file' ? ` in the file of ${name}_FILE` : '';
  const problem = `expected ${expected(option)}, got ${showWrongText(option, text)}${where}`;
  return { name, from, text, issue: { field: name, problem } };
}

function readText(path: string): { readonly text: string } | { readonly problem: string } {
  try {
    return { text: readFileSync(path, 'utf8') };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return {
      problem: `expected a readable file, cannot read ${showPath(path)} (${code})`,
    };
  }
}
