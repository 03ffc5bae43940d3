/**
 * Plants mistakes, one at a time, in a copy of the tracked files, and expects the tests that are named beside each to
 * fail: `npm run test:controls` disables each control of security, `npm run test:planted` plants the mistakes of
 * scripts/planted-mistakes.ts.
 *
 *   npm run test:controls -- --only src/payload,src/ops/web/access
 *
 * Two copies are tried side by side: most of a try is the start of the tests. Exits with 1 if a mistake is not noticed,
 * if a test fails without one, or if there is none.
 */
import { parseArgs } from 'node:util';
import { PLANTED } from '../planted-mistakes.ts';
import { CONTROLS } from './controls.ts';
import { Sandbox } from './sandbox.ts';

/** A mistake, and the tests that notice it. */
interface Mistake {
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly tests: readonly string[];
  /** Words of the name of the test that fails. Default: any test of these files */
  readonly words?: string;
}

/** A test file may take this long: some wait for a connection that has to be closed. */
const LIMIT_MS = 120_000;

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    planted: { type: 'boolean', default: false },
  },
});
const all: readonly Mistake[] = values.planted
  ? PLANTED.flatMap(({ file, tests, mistakes }) =>
      mistakes.map(([from, to]) => ({ file, from, to, tests })),
    )
  : CONTROLS.map(({ file, from, to, test, words }) => ({
      file,
      from,
      to,
      words,
      tests: [`test/${test}`],
    }));
const only = values.only.split(',');
const mistakes = all.filter(({ file }) => only.some((start) => file.startsWith(start)));

let problems = 0;
const waiting = [...mistakes];
const first = new Sandbox();
const sandboxes = [first, new Sandbox()];
try {
  await runUnchanged();
  await Promise.all(sandboxes.map(plantWaiting));
} finally {
  for (const sandbox of sandboxes) sandbox.remove();
}
console.log(`${mistakes.length - problems} of ${mistakes.length} mistakes were noticed`);
process.exitCode = problems === 0 && mistakes.length > 0 ? 0 : 1;

/** A test that fails without a change would notice everything. */
async function runUnchanged(): Promise<void> {
  const files = [...new Set(mistakes.flatMap(({ tests }) => tests))];
  const run = await first.run(files, 10 * LIMIT_MS);
  if (run.result === 'passed') return;
  // A busy machine makes tests of times fail: alone they pass.
  const { result, failedTests } = await first.run(run.failedFiles, 5 * LIMIT_MS);
  if (result === 'passed') return;
  problems += 1;
  console.log(`PROBLEM  fails without a change: ${failedTests.join(', ')}`);
}

/** Plants in a copy what no other copy has taken, until nothing is left. */
async function plantWaiting(sandbox: Sandbox): Promise<void> {
  for (let mistake = waiting.shift(); mistake !== undefined; mistake = waiting.shift()) {
    const found = await plant(sandbox, mistake);
    if (found !== undefined) problems += 1;
    console.log(`${found ?? 'noticed'}: ${mistake.file}: ${mistake.from}`);
  }
}

/** @returns why the mistake does not count as noticed; undefined where a test failed */
async function plant(sandbox: Sandbox, mistake: Mistake): Promise<string | undefined> {
  const { file, from, to, tests, words } = mistake;
  const parts = sandbox.read(file).split(from);
  if (parts.length !== 2) return `PROBLEM its text occurs ${parts.length - 1} times`;
  const { result, failedTests } = await sandbox.change(file, parts.join(to), () =>
    sandbox.run(tests, LIMIT_MS, words),
  );
  if (result === 'time limit') return `PROBLEM ${tests.join(', ')} did not end`;
  // Code that cannot be read fails as a file, not in a test.
  const isNoticed = failedTests.some((name) => name.includes(words ?? ''));
  return isNoticed ? undefined : 'PROBLEM not noticed';
}
