import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { seedOfRun } from '../../chaos/support/random.ts';

/** Where input of others is read, and what has to hold there. */
export interface Target<Input = unknown> {
  readonly name: string;
  readonly inputs: fc.Arbitrary<Input>;
  /** Throws where the law is broken. Whatever else it throws breaks it, too. */
  readonly law: (input: Input) => void | Promise<void>;
}

/** A target for a list of different ones. */
export function target<Input>(one: Target<Input>): Target {
  return one as unknown as Target;
}

/** How much is tried. */
export type Amount = { readonly runs: number } | { readonly ms: number };

/** An input may take as long, on a machine that does other things. */
const MOST_MS_OF_INPUT = 5_000;
/** Runs and the search for the smallest input end after this time, on any machine. */
const MOST_MS_OF_RUNS = 20_000;
/** More heap than this after a run that is twice as long as the warm-up is a leak. */
export const MOST_GROWTH = 24 * 1024 * 1024;

/**
 * Tries a target with random inputs. The seed is printed, and NOTICES_SEED repeats it; a failure prints the
 * smallest input, too. An input that takes seconds fails.
 */
export async function fuzz({ name, inputs, law }: Target, amount: Amount): Promise<void> {
  const seed = seedOfRun();
  console.info(`fuzz ${name}: NOTICES_SEED=${seed}`);
  const property = fc.asyncProperty(inputs, async (input) => {
    const began = performance.now();
    await law(input);
    const tookMs = performance.now() - began;
    if (tookMs > MOST_MS_OF_INPUT) throw new Error(`the input took ${Math.round(tookMs)} ms`);
  });
  const plan =
    'runs' in amount
      ? { numRuns: amount.runs, interruptAfterTimeLimit: MOST_MS_OF_RUNS }
      : { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: amount.ms };
  const { failed, counterexample, errorInstance } = await fc.check(property, { seed, ...plan });
  if (!failed) return;
  const input = shown(counterexample).slice(0, 4_000);
  throw new Error(`NOTICES_SEED=${seed} fails with ${input}`, { cause: errorInstance });
}

/** As much of an input as a person reads: one that is nested deeply would take minutes to be written whole. */
const shown = (input: unknown): string =>
  inspect(input, { depth: 8, maxArrayLength: 50, maxStringLength: 2_000 });

/** Tries a target for this long, a third of it to warm up. @returns how much the heap grew afterwards, in bytes */
export async function growthOf(one: Target, ms: number): Promise<number> {
  await fuzz(one, { ms: ms / 3 });
  const before = heapInUse();
  await fuzz(one, { ms: (2 * ms) / 3 });
  return heapInUse() - before;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapInUse(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
