import type { InputIssue } from '../contracts/errors.ts';
import type { Environment } from './environment.ts';
import { showPath, showValue, showWrongText } from './mask.ts';
import { optionOf, type OptionName } from './options.ts';
import { readEnvironment, type Origin, type Reading, type ReadOptions } from './read.ts';

/** One option as it is in effect. */
interface ConfigRow {
  readonly name: OptionName;
  /** Safe to show: a secret is `set (24 characters)` or `not set`, a password in an address `***`. */
  readonly value: string;
  readonly from: Origin;
}

/** The effective configuration, and what is wrong with it. */
export interface ConfigReport {
  readonly rows: readonly ConfigRow[];
  /** Empty when {@link loadConfig} would accept it. */
  readonly issues: readonly InputIssue[];
}

/**
 * The effective configuration for people to read, secrets masked. It throws nothing: what is wrong
 * stands in `issues`.
 *
 * @param environment variables by name; those of this process when left out
 */
export function describeConfig(environment?: Environment, options?: ReadOptions): ConfigReport {
  const { readings, issues } = readEnvironment(environment, options);
  const rows = readings.map((reading) => ({
    name: reading.name,
    value: show(reading),
    from: reading.from,
  }));
  return { rows, issues };
}

function show({ name, text, value, issue }: Reading): string {
  const option = optionOf(name);
  if (option.kind === 'file' && text !== undefined) {
    return issue ? `${showPath(text)} (not valid)` : showPath(text);
  }
  if (!issue) return showValue(option, value);
  return text === undefined ? 'not valid' : `${showWrongText(option, text)} (not valid)`;
}
