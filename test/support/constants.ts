import { CONSTANTS_OF_TESTS, constantsIn } from '../../src/config/config.ts';
import { parseDuration } from '../../src/format/time.ts';

const NAMES = new Set(Object.keys(constantsIn({}, 0)));

/** An environment in which variables with the name of a constant of the program (src/config/config.ts) change it. */
export function withConstants(env: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(env);
  const given = entries.filter(([name]) => NAMES.has(name));
  if (given.length === 0) return { ...env };
  const constants = Object.fromEntries(
    given.map(([name, text]) => [name, parseDuration(text, 'ms') ?? Number.NaN]),
  );
  const others = Object.fromEntries(entries.filter(([name]) => !NAMES.has(name)));
  return { ...others, [CONSTANTS_OF_TESTS]: JSON.stringify(constants) };
}
