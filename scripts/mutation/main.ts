/**
 * Plants mistakes in the code that costs money when it is wrong, one at a time, and counts how many the
 * tests notice.
 *
 *   npm run test:mutation                                 2 mistakes in each file
 *   npm run test:mutation -- --per-file 5 --seed 7 --only src/token
 *
 * Works in copies of the tracked files, so the working tree is not touched. A mistake that no test notices
 * is listed; those of `equivalent.ts` change nothing that can be observed. Exits with 1 when less than
 * 90 % of the others are noticed.
 */
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { isEquivalent } from './equivalent.ts';
import { mutantsOf, sample, seeded, type Mutant } from './mutate.ts';
import { TARGETS, type Target } from './targets.ts';

/** A mutant whose tests take longer makes them hang: noticed. */
const TIMEOUT_MS = 240_000;

/** One copy for each core of a small machine. */
const COPIES = 2;

const LEAST_NOTICED = 0.9;

const { values } = parseArgs({
  options: {
    'per-file': { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
});

const tracked = spawnSync('git', ['ls-files', '-z'], { encoding: 'utf8' }).stdout.split('\0');

/** Copies what git knows, and the build; the packages are linked. */
function copy(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'notices-mutation-'));
  for (const file of tracked.filter((name) => name !== '')) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    cpSync(file, path.join(folder, file));
  }
  cpSync('dist', path.join(folder, 'dist'), { recursive: true });
  symlinkSync(path.resolve('node_modules'), path.join(folder, 'node_modules'));
  return folder;
}

/** A mutant with the tests that should notice it. */
interface Planted extends Mutant {
  readonly tests: Target['tests'];
}

function plan(): Planted[] {
  const random = seeded(Number(values.seed));
  return TARGETS.flatMap(({ code, tests }) =>
    tracked
      .filter((file) => file === code || (file.startsWith(`${code}/`) && file.endsWith('.ts')))
      .filter((file) => file.startsWith(values.only))
      .flatMap((file) =>
        sample(mutantsOf(file, readFileSync(file, 'utf8')), Number(values['per-file']), random),
      )
      .map((mutant) => ({ ...mutant, tests })),
  );
}

/** Whether the tests of these filters fail. */
function fails(folder: string, filters: readonly string[]): Promise<boolean> {
  const tiers = ['unit', 'integration', 'promise'].flatMap((tier) => ['--project', tier]);
  const args = ['node_modules/vitest/vitest.mjs', 'run', ...tiers, '--bail', '1', ...filters];
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, NOTICES_SKIP_BUILD: '1', CI: '' },
    stdio: 'ignore',
  });
  const timer = setTimeout(() => child.kill('SIGTERM'), TIMEOUT_MS);
  return new Promise((resolve) => {
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve(code !== 0);
    });
  });
}

async function isNoticed(folder: string, mutant: Planted): Promise<boolean> {
  const file = path.join(folder, mutant.file);
  const source = readFileSync(file, 'utf8');
  const lines = source.split('\n');
  lines[mutant.line - 1] = mutant.text;
  writeFileSync(file, lines.join('\n'));
  try {
    for (const filters of mutant.tests) if (await fails(folder, filters)) return true;
    return false;
  } finally {
    writeFileSync(file, source);
  }
}

/** @throws Error when tests fail without a mistake: they would seem to notice every one */
async function requirePassing(planted: readonly Planted[], folders: readonly string[]) {
  const sets = [...new Set(planted.flatMap(({ tests }) => tests.map((set) => set.join(' '))))];
  await Promise.all(
    folders.map(async (folder) => {
      for (let set = sets.shift(); set !== undefined; set = sets.shift()) {
        const filters = set.split(' ');
        // The second try is for a machine that stops for seconds.
        if ((await fails(folder, filters)) && (await fails(folder, filters))) {
          throw new Error(`these tests fail without a planted mistake: ${set}`);
        }
      }
    }),
  );
}

async function main(): Promise<number> {
  const planted = plan();
  const folders = Array.from({ length: COPIES }, copy);
  try {
    await requirePassing(planted, folders);
    return await plantAll(planted, folders);
  } finally {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  }
}

async function plantAll(planted: readonly Planted[], folders: readonly string[]): Promise<number> {
  const waiting = [...planted];
  const survived: Planted[] = [];
  let done = 0;
  const runCopy = async (folder: string) => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const noticed = await isNoticed(folder, mutant);
      if (!noticed) survived.push(mutant);
      const { file, line, what } = mutant;
      const result = noticed ? 'noticed ' : isEquivalent(mutant) ? 'no change' : 'SURVIVED';
      console.log(`${(done += 1)}/${planted.length} ${result} ${file}:${line} ${what}`);
    }
  };
  await Promise.all(folders.map(runCopy));

  const equivalent = survived.filter(isEquivalent);
  const missed = survived.filter((mutant) => !isEquivalent(mutant));
  const counted = planted.length - equivalent.length;
  const share = counted === 0 ? 1 : (counted - missed.length) / counted;
  for (const { file, line, what, text } of missed) {
    console.log(`\n${file}:${line}  ${what}\n    ${text.trim()}`);
  }
  console.log(
    `\nseed ${values.seed}: ${counted - missed.length} of ${counted} noticed (${Math.round(share * 100)} %), ${equivalent.length} without effect`,
  );
  return share >= LEAST_NOTICED ? 0 : 1;
}

process.exitCode = await main();
