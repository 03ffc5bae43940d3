import type { InputIssue } from '../contracts/errors.ts';
import type { Environment } from './environment.ts';
import { showInvalid, showPath, showValue } from './mask.ts';
import { readEnvironment, type Origin, type Reading, type ReadOptions } from './read.ts';
import { metadataOf, type Row } from './variable.ts';
import { rowOf, type VariableName } from './variables.ts';

/** One variable of the effective configuration. */
interface ConfigRow {
  readonly name: VariableName;
  /** Safe to show: a secret is `set (24 characters)` or `not set`, a password in a URL `***`. */
  readonly value: string;
  readonly from: Origin;
}

/** The effective configuration, and what is wrong with it. */
export interface ConfigReport {
  readonly rows: readonly ConfigRow[];
  /** Empty when `loadConfig` would accept the environment. */
  readonly issues: readonly InputIssue[];
}

/**
 * Describes the effective configuration, secrets masked. Throws nothing; problems are in `issues`.
 *
 * @param environment variables by name. Default: those of this process
 */
export function describeConfig(environment?: Environment, options?: ReadOptions): ConfigReport {
  const { readings, issues } = readEnvironment(environment, options);
  const rows = [...readings].map(([name, reading]) => ({
    name,
    value: show(rowOf(name), reading),
    from: reading.from,
  }));
  return { rows, issues };
}

function show(row: Row, { text, value, issue }: Reading): string {
  if (metadataOf(row).readsPath === true && text !== undefined) {
    return issue ? `${showPath(text)} (not valid)` : showPath(text);
  }
  if (!issue) return showValue(row, value);
  return text === undefined ? 'not valid' : `${showInvalid(row, text)} (not valid)`;
}
