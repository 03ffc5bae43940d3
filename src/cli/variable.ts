import { UsageError } from './usage-error.ts';

/** Reads `name=value`, a template variable given on the command line. */
export function variable(pair: string): [string, string] {
  const at = pair.indexOf('=');
  if (at < 1) throw new UsageError(`--var: expected name=value, such as var1=Kim`);
  return [pair.slice(0, at), pair.slice(at + 1)];
}
