import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(
  readFileSync(path.join(ROOT, 'package.json'), 'utf8'),
) as Record<string, Record<string, string>>;
const names = (group: Record<string, string> = {}) => Object.keys(group);

/** A copy that has these packages and those that are always there. @returns its folder */
function copyWith(installed: readonly string[]): string {
  const folder = temporaryFolder();
  for (const part of ['package.json', 'dist/src', 'dist/workers']) {
    cpSync(path.join(ROOT, part), path.join(folder, part), { recursive: true });
  }
  for (const name of [...names(dependencies), ...installed]) {
    const link = path.join(folder, 'node_modules', name);
    mkdirSync(path.dirname(link), { recursive: true });
    symlinkSync(path.join(ROOT, 'node_modules', name), link);
  }
  return folder;
}

/** What is named to install, by such a copy. */
async function namedBy(command: string, installed: readonly string[]): Promise<string[]> {
  const main = path.join(copyWith(installed), 'dist/src/cli/main.js');
  const said = await new Promise<string>((resolve) => {
    execFile(process.execPath, [main, command], { env: {} }, (_, __, stderr) => resolve(stderr));
  });
  const [, list = ''] = /npm install (.*)/.exec(said) ?? [];
  return list.split(' ').map((one) => one.replace(/(?<=.)@.*/, ''));
}

it('all packages are named that a command needs and that are not there', async () => {
  const [optional, peer] = [names(optionalDependencies), names(peerDependencies)];
  expect(await namedBy('doctor', [])).toEqual(optional);
  expect(await namedBy('ops', [])).toEqual([...optional, ...peer]);
  expect(await namedBy('ops', optional)).toEqual(peer);
});

it.each([
  ['a file of ours', 'dist/workers/process/start-worker.js', false],
  ['a package', 'node_modules/axios', true],
])(
  'a worker in a program says what to install only for a package: %s',
  async (_, missing, says) => {
    const folder = copyWith(names(optionalDependencies));
    rmSync(path.join(folder, missing));
    const code = `const { startNoticeWorker } = await import('./dist/workers/process/notice-worker.js');
    await startNoticeWorker().catch(({ message }) => console.log(message));`;
    const args = ['--input-type=module', '--eval', code];
    const said = await new Promise<string>((resolve) => {
      execFile(process.execPath, args, { cwd: folder, env: {} }, (__, stdout) => resolve(stdout));
    });
    expect([said.includes(path.basename(missing)), said.includes('npm install')]).toEqual([
      true,
      says,
    ]);
  },
);
