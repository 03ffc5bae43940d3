import type { Mutant } from './mutate.ts';

/** Mutants that change nothing that can be observed, with the reason. */
const EQUIVALENT: readonly {
  readonly file: string;
  readonly text: string;
  readonly why: string;
}[] = [];

/** Whether a mutant is known to change nothing that can be observed. */
export function isEquivalent({ file, text }: Mutant): boolean {
  return EQUIVALENT.some((one) => one.file === file && one.text === text.trim());
}
