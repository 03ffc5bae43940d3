import { createHash } from 'node:crypto';
import { COMPARED_VARIABLES, type ComparedVariable } from '../contracts/version.ts';
import type { Values } from './variables.ts';

/** A short digest of each of them, for the heartbeats of workers. */
export function digestsOf(values: Values): Readonly<Record<ComparedVariable, string>> {
  const digest = (name: ComparedVariable) =>
    createHash('sha256')
      .update(JSON.stringify(values[name] ?? null))
      .digest('hex')
      .slice(0, 6);
  return Object.fromEntries(COMPARED_VARIABLES.map((name) => [name, digest(name)])) as Record<
    ComparedVariable,
    string
  >;
}
