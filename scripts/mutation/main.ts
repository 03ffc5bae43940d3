/**
 * Plants mistakes in the code that costs money when it is wrong, one at a time, and counts how many the
 * tests notice.
 *
 *   npm run test:mutation                                 2 mistakes in each file
 *   npm run test:mutation -- --per-file 5 --seed 7 --only src/token,src/fleet/hold
 *   npm run test:mutation -- --skip 1                     only the second mistake of each file
 *   npm run test:mutation -- --survivors                  again those that no test noticed
 *
 * Works in a copy of the tracked files. Each mistake meets the tests nearest to it, unit tests before others,
 * then those farther away, until the first one fails or takes far longer than without it. The results are in
 * node_modules/.cache/notices-mutation, one file for each seed: a run that was stopped continues there, and
 * more mistakes per file add to the ones before. Exits with 1 when less than 90 % are noticed. Not counted are
 * mistakes that do not compile, which `npm run check` refuses, and those of `equivalent.ts`, which change nothing
 * that can be observed.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { sample, mutantsOf, seeded, type Mutant } from './mutate.ts';
import { importersOf, nearestWithin, testsByDistance, tierOf } from './nearest-tests.ts';
import { keyOf, Results, summaryOf, type Result } from './results.ts';
import { Sandbox } from './sandbox.ts';
import { TARGETS } from './targets.ts';

const LEAST_NOTICED = 0.9;

/** Seconds of tests that a mistake meets first, by tier. Longer ones only where they are the nearest. */
const SECONDS = { unit: 12, integration: 30 } as const;

/** Imports between a test and the code it is near to. */
const NEAR = 4;

/** Test runs of a tier without a mistake may take this long. */
const BASELINE_MS = 900_000;

const { values } = parseArgs({
  options: {
    'per-file': { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    skip: { type: 'string', default: '0' },
    only: { type: 'string', default: '' },
    survivors: { type: 'boolean', default: false },
  },
});

/** A mutant with the tests that should notice it. */
interface Planted {
  readonly mutant: Mutant;
  readonly key: string;
  readonly target: string;
  /** Tests of several imports away, of every tier. */
  readonly wide: readonly string[];
}

/** The first mutant of each file, then the second of each: a run that is stopped has seen all files. */
function plan(sandbox: Sandbox): Planted[] {
  const perFile = Number(values['per-file']);
  const only = values.only.split(',');
  const rounds = Array.from({ length: perFile }, (): Planted[] => []);
  for (const { code, wide } of TARGETS) {
    const files = sandbox.files
      .filter((file) => file === code || (file.startsWith(`${code}/`) && file.endsWith('.ts')))
      .filter((file) => only.some((beginning) => file.startsWith(beginning)));
    for (const file of files) {
      const source = sandbox.read(file);
      const drawn = sample(mutantsOf(file, source), perFile, seeded(Number(values.seed)));
      for (const [round, mutant] of drawn.entries()) {
        rounds[round]?.push({ mutant, key: keyOf(mutant, source), target: code, wide });
      }
    }
  }
  return rounds.slice(Number(values.skip)).flat();
}

/** The tests of each mutant, in the order of its stages. */
interface Stage {
  readonly tier: string;
  readonly tests: readonly string[];
}

/** What is known of the tests. */
interface Measured {
  readonly durations: readonly (readonly [test: string, seconds: number])[];
  readonly failing: readonly string[];
}

class MutationRun {
  readonly #sandbox: Sandbox;
  readonly #durations = new Map<string, number>();
  readonly #nearest = new Map<string, ReadonlyMap<string, number>>();
  readonly #tests: readonly string[];
  /** Test files that fail without a mistake. */
  readonly #failing = new Set<string>();

  /** Where what is known of the tests is kept. */
  readonly #file: string;

  constructor(sandbox: Sandbox, planted: readonly Planted[], folder: string) {
    this.#sandbox = sandbox;
    this.#file = path.join(folder, `tests-${sandbox.digest()}.json`);
    const code = sandbox.files.filter((file) => file.endsWith('.ts'));
    const importers = importersOf(new Map(code.map((file) => [file, sandbox.read(file)])));
    this.#tests = code.filter((file) => file.endsWith('.test.ts'));
    for (const { mutant } of planted) {
      this.#nearest.set(mutant.file, testsByDistance(importers, mutant.file, NEAR));
    }
  }

  /**
   * Runs the nearest tests of all mistakes once. Those that fail without a mistake would seem to notice every
   * one: left out. A run that continues with the same files does not repeat it.
   */
  async measure(planted: readonly Planted[]): Promise<void> {
    if (existsSync(this.#file)) {
      const known = JSON.parse(readFileSync(this.#file, 'utf8')) as Measured;
      for (const [test, seconds] of known.durations) this.#durations.set(test, seconds);
      for (const test of known.failing) this.#failing.add(test);
    }
    await this.#measureNew(new Set(planted.flatMap((one) => [...this.#near(one).keys()])));
  }

  async #measureNew(tests: ReadonlySet<string>): Promise<void> {
    for (const tier of ['unit', 'integration', 'promise', 'fleet']) {
      const files = [...tests].filter(
        (test) => tierOf(test) === tier && !this.#durations.has(test),
      );
      if (files.length === 0) continue;
      const first = await this.#sandbox.run(tier, files, BASELINE_MS, { bail: false });
      for (const [file, takes] of first.durations) this.#durations.set(file, takes);
      // The second try is for a machine that stops for seconds.
      const failed = first.result === 'passed' ? [] : (first.failedFiles ?? files);
      for (const file of failed) {
        const again = await this.#sandbox.run(tier, [file], BASELINE_MS, { bail: false });
        if (again.result === 'passed') continue;
        this.#failing.add(file);
        console.log(`left out, fails without a mistake: ${again.failed ?? file}`);
      }
      console.log(`${files.length} test files of the tier ${tier}`);
    }
    const measured: Measured = { durations: [...this.#durations], failing: [...this.#failing] };
    writeFileSync(this.#file, JSON.stringify(measured));
  }

  async plant(planted: Planted): Promise<Result> {
    const { mutant, target } = planted;
    const began = Date.now();
    const result = (of: Result['result'], by?: string): Result => {
      return {
        ...mutant,
        target,
        result: of,
        by,
        seconds: Math.round((Date.now() - began) / 1_000),
      };
    };
    if (!mutant.inScript && !(await this.#sandbox.compiles(mutant))) return result('invalid');
    for await (const { tier, tests } of this.#stages(planted)) {
      const spawnsBuilt = tier !== 'unit' && tier !== 'integration';
      const takes = tests.reduce((sum, test) => sum + (this.#durations.get(test) ?? 0), 0);
      const limitMs = 60_000 + 4_000 * takes;
      const run = await this.#sandbox.plant(mutant, spawnsBuilt, () =>
        this.#sandbox.run(tier, tests, limitMs),
      );
      if (run.result === 'invalid') return result('invalid');
      if (run.result !== 'passed') return result('noticed', run.failed ?? run.result);
    }
    return result('survived');
  }

  /**
   * The nearest tests that fit into a time; then all others that are near, and the wide ones, which are measured
   * only for a mistake that the first did not notice.
   */
  async *#stages(planted: Planted): AsyncGenerator<Stage> {
    const near = this.#near(planted);
    const tried = new Set<string>();
    for (const [tier, seconds] of Object.entries(SECONDS)) {
      const ofTier = new Map([...near].filter(([test]) => tierOf(test) === tier));
      const tests = nearestWithin(ofTier, this.#durations, seconds);
      for (const test of tests) tried.add(test);
      if (tests.length > 0) yield { tier, tests };
    }
    await this.#measureNew(new Set(this.#wide(planted)));
    const others = [...new Set([...near.keys(), ...this.#wide(planted)])];
    for (const tier of ['unit', 'integration', 'promise', 'fleet']) {
      const tests = others.filter((test) => tierOf(test) === tier && !tried.has(test));
      if (tests.length > 0) yield { tier, tests };
    }
  }

  #near({ mutant }: Planted): ReadonlyMap<string, number> {
    const all = this.#nearest.get(mutant.file) ?? new Map<string, number>();
    // A unit test executes no Lua.
    const tiers = mutant.inScript ? ['integration'] : Object.keys(SECONDS);
    return new Map(
      [...all].filter(([test]) => tiers.includes(tierOf(test)) && !this.#failing.has(test)),
    );
  }

  #wide({ wide }: Planted): string[] {
    return this.#tests.filter(
      (test) => !this.#failing.has(test) && wide.some((prefix) => isNamed(test, prefix)),
    );
  }
}

/** Slow tests, such as `a.fleet`, are named one by one. */
const isNamed = (test: string, prefix: string) =>
  test.startsWith(prefix) && (tierOf(test) in SECONDS || prefix.includes('.'));

async function main(): Promise<number> {
  const folder = path.resolve('node_modules/.cache/notices-mutation');
  const results = new Results(path.join(folder, `seed-${values.seed}.jsonl`));
  const sandbox = new Sandbox();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      sandbox.remove();
      process.exit(130);
    });
  }
  try {
    const planted = plan(sandbox);
    const waiting = planted.filter(({ key }) => {
      const known = results.of(key)?.result;
      return known === undefined || (values.survivors && known === 'survived');
    });
    console.log(`${planted.length} mistakes, ${waiting.length} of them to be planted`);
    const run = new MutationRun(sandbox, waiting, folder);
    await run.measure(waiting);
    for (const [index, one] of waiting.entries()) {
      const result = await run.plant(one);
      results.add(one.key, result);
      const { result: kind, by = '', seconds } = result;
      const place = `${result.file}:${result.line} ${result.what}`;
      console.log(`${index + 1}/${waiting.length} ${seconds} s ${kind} ${place}  ${by}`);
    }
    const { text, share } = summaryOf(planted.flatMap(({ key }) => results.of(key) ?? []));
    console.log(`\nseed ${values.seed}, ${values['per-file']} per file\n\n${text}`);
    return share >= LEAST_NOTICED ? 0 : 1;
  } finally {
    sandbox.remove();
  }
}

process.exitCode = await main();
