import { CONSTANTS_OF_TESTS, constantsIn } from '../../src/config/config.ts';
import { parseDuration } from '../../src/format/time.ts';

/** Parts of the configuration with which the names of their constants begin. */
const NAMED: ReadonlySet<string> = new Set(['token', 'rateLimit', 'redis', 'restore', 'ops']);

const nameOf = (...words: readonly string[]) =>
  words.map((word) => word.replaceAll(/[A-Z]/g, '_$&').toUpperCase()).join('_');

/** Part and field of each constant by its name: `HEARTBEAT_MS` is `worker.heartbeatMs`. */
const PLACES = new Map(
  Object.entries(constantsIn({}, 0)).flatMap(([part, constants]) =>
    Object.keys(constants).map(
      (field) => [nameOf(...(NAMED.has(part) ? [part] : []), field), [part, field]] as const,
    ),
  ),
);

/** An environment in which variables with the name of a constant of the program (src/config/config.ts) change it. */
export function withConstants(env: Readonly<Record<string, string>>): Record<string, string> {
  const others: Record<string, string> = {};
  const given: Record<string, Record<string, number>> = {};
  for (const [name, text] of Object.entries(env)) {
    const [part, field] = PLACES.get(name) ?? [];
    if (part === undefined || field === undefined) others[name] = text;
    else (given[part] ??= {})[field] = parseDuration(text, 'ms') ?? Number.NaN;
  }
  const isAny = Object.keys(given).length > 0;
  return { ...others, ...(isAny ? { [CONSTANTS_OF_TESTS]: JSON.stringify(given) } : {}) };
}
