import { describeAnswerRules } from './answer-rules.ts';
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
  /** The rules of ANSWER_RULES_FILE in words; empty without such a file. */
  readonly answerRules: readonly string[];
  /** Empty when `loadConfig` would accept the environment. */
  readonly issues: readonly InputIssue[];
}

/**
 * Describes the effective configuration, secrets masked. Throws nothing; problems are in `issues`.
 *
 * @param environment variables by name. Default: those of this process
 */
export function describeConfig(environment?: Environment, options?: ReadOptions): ConfigReport {
  const { readings, values, issues } = readEnvironment(environment, options);
  const rows = [...readings].map(([name, reading]) => ({
    name,
    value: show(rowOf(name), reading),
    from: reading.from,
  }));
  const rules = values.ANSWER_RULES_FILE;
  const answerRules = rules === undefined ? [] : describeAnswerRules(rules);
  return { rows, answerRules, issues };
}

function show(row: Row, { text, value, issue }: Reading): string {
  if (metadataOf(row).readsPath === true && text !== undefined) {
    return issue ? `${showPath(text)} (not valid)` : showPath(text);
  }
  if (!issue) return showValue(row, value);
  return text === undefined ? 'not valid' : `${showInvalid(row, text)} (not valid)`;
}
