import { deprecationWarning, type DeprecatedVariable } from './deprecated.ts';
import { mistypedWarning, type MistypedVariable } from './mistyped.ts';

/** Logs a warning for each variable that is set under a former name or is probably mistyped. */
export function warnOfVariables(
  logger: { warn(fields: object, message: string): void },
  {
    deprecated,
    mistyped,
  }: {
    readonly deprecated: readonly DeprecatedVariable[];
    readonly mistyped: readonly MistypedVariable[];
  },
): void {
  for (const variable of deprecated) {
    logger.warn({ event: 'deprecated-variable', ...variable }, deprecationWarning(variable));
  }
  for (const variable of mistyped) {
    logger.warn({ event: 'mistyped-variable', ...variable }, mistypedWarning(variable));
  }
}
