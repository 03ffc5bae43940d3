/**
 * Disables each control of security, one at a time, in a copy of the tracked files, and expects its test to fail:
 * a control without such a test could disappear unnoticed.
 *
 *   npm run test:controls
 *   npm run test:controls -- --only src/payload,src/ops/web/access
 *
 * Two copies are tried side by side: most of a try is the start of the tests.
 *
 * Exits with 1 if a test does not fail, or fails without a change, or if there is no such control.
 */
import { parseArgs } from 'node:util';
import { tierOf } from '../mutation/nearest-tests.ts';
import { Sandbox } from '../mutation/sandbox.ts';
import type { Control } from './control.ts';
import { CONTROLS } from './controls.ts';

/** A test file may take this long: some wait for a connection that has to be closed. */
const LIMIT_MS = 120_000;

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });
const only = values.only.split(',');
const controls = CONTROLS.filter(({ file }) => only.some((start) => file.startsWith(start)));

let problems = 0;
const waiting = [...controls];
const first = new Sandbox();
const sandboxes = [first, new Sandbox()];
try {
  await runUnchanged();
  await Promise.all(sandboxes.map(disableWaiting));
} finally {
  for (const sandbox of sandboxes) sandbox.remove();
}
console.log(`${controls.length - problems} of ${controls.length} disabled controls were noticed`);
process.exitCode = problems === 0 && controls.length > 0 ? 0 : 1;

/** A test that fails without a change would notice everything. */
async function runUnchanged(): Promise<void> {
  const files = new Set(controls.map(({ test }) => `test/${test}`));
  for (const tier of new Set([...files].map(tierOf))) {
    const ofTier = [...files].filter((file) => tierOf(file) === tier);
    const run = await first.run(tier, ofTier, 5 * LIMIT_MS, { bail: false });
    if (run.result === 'passed') continue;
    // A busy machine makes tests of times fail: alone they pass.
    const { result, failed = '' } = await first.run(tier, run.failedFiles ?? ofTier, 5 * LIMIT_MS);
    if (result === 'passed') continue;
    problems += 1;
    console.log(`PROBLEM  fails without a change: ${failed}`);
  }
}

/** Disables in a copy what no other copy has taken, until nothing is left. */
async function disableWaiting(sandbox: Sandbox): Promise<void> {
  for (let control = waiting.shift(); control !== undefined; control = waiting.shift()) {
    const found = await disable(sandbox, control);
    if (found !== undefined) problems += 1;
    console.log(`${found === undefined ? 'noticed ' : 'PROBLEM '} ${control.prevents}`);
    if (found !== undefined) console.log(`         ${control.file}: ${found}`);
  }
}

/** @returns why the control cannot be called tested; undefined where its test failed */
async function disable(sandbox: Sandbox, control: Control): Promise<string | undefined> {
  const { file, from, to, test, words } = control;
  const parts = sandbox.read(file).split(from);
  if (parts.length !== 2) return `its text occurs ${parts.length - 1} times: ${from}`;
  const place = `test/${test}`;
  const run = () => sandbox.run(tierOf(place), [place], LIMIT_MS, { bail: false, words });
  const { result, failedTests = [] } = await sandbox.change(file, parts.join(to), false, run);
  if (result === 'time limit') return `${test} did not end`;
  // Code that cannot be read fails as a file, not in a test of this name.
  const isNamed = failedTests.some((name) => name.includes(words));
  return isNamed ? undefined : `${test} passed, or another test of it failed`;
}
