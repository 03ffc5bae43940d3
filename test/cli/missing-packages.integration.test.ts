import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '../..');
const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(
  readFileSync(path.join(ROOT, 'package.json'), 'utf8'),
) as Record<string, Record<string, string>>;
const names = (group: Record<string, string> = {}) => Object.keys(group);

/** What is named to install, by a copy that has these packages and those that are always there. */
async function namedBy(command: string, installed: readonly string[]): Promise<string[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'notices-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const part of ['package.json', 'dist/src', 'dist/workers']) {
    cpSync(path.join(ROOT, part), path.join(folder, part), { recursive: true });
  }
  for (const name of [...names(dependencies), ...installed]) {
    const link = path.join(folder, 'node_modules', name);
    mkdirSync(path.dirname(link), { recursive: true });
    symlinkSync(path.join(ROOT, 'node_modules', name), link);
  }
  const main = path.join(folder, 'dist/src/cli/main.js');
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
