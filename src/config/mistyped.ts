import type { Environment } from './environment.ts';
import { metadataOf } from './variable.ts';
import { ROWS } from './variables.ts';

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
