import type { InputIssue } from '../contracts/errors.ts';
import type { Environment } from './environment.ts';
import { metadataOf } from './variable.ts';
import { ROWS, type VariableName } from './variables.ts';

/** A variable that is set under its former name. */
export interface DeprecatedVariable {
  /** The former name, as it is set; with `_FILE` where the value is given by a file. */
  readonly formerly: string;
  /** The name to use instead. */
  readonly name: string;
}

/** An environment in which former names are replaced by current ones. */
interface Renamed {
  readonly environment: Environment;
  readonly deprecated: readonly DeprecatedVariable[];
  /** Variables that are set under both names, to different values. */
  readonly issues: ReadonlyMap<VariableName, InputIssue>;
}

/** Replaces former names of variables by current ones; changes nothing in `given`. */
export function withCurrentNames(given: Environment): Renamed {
  const environment = { ...given };
  const deprecated: DeprecatedVariable[] = [];
  const issues = new Map<VariableName, InputIssue>();
  for (const row of ROWS) {
    const { formerly, secret } = metadataOf(row);
    if (formerly === undefined) continue;
    for (const suffix of secret === undefined ? [''] : ['', '_FILE']) {
      const [before, name] = [`${formerly}${suffix}`, `${row.variable}${suffix}`];
      const value = given[before];
      if (isBlank(value)) continue;
      deprecated.push({ formerly: before, name });
      if (!isBlank(given[name]) && given[name]?.trim() !== value?.trim()) {
        const problem = `is set together with ${before}, its former name, to another value: unset ${before}`;
        issues.set(row.variable, { field: name, problem });
      } else {
        environment[name] = value;
      }
    }
  }
  return { environment, deprecated, issues };
}

/** The deprecation warning for the terminal and the log. */
export function deprecationWarning({ formerly, name }: DeprecatedVariable): string {
  return `${formerly} is deprecated and will be removed: set ${name} instead`;
}

/** Whether a variable counts as not set: compose files and CI leave variables out by a blank value. */
export function isBlank(text: string | undefined): text is undefined {
  return text === undefined || text.trim() === '';
}
