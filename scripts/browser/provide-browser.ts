import { execFile } from 'node:child_process';
import path from 'node:path';
import { findOnPath } from '../redis/find-on-path.ts';

const COMMAND_DEADLINE_MS = 600_000;
const PACKAGES = ['chromium', 'fonts-dejavu-core'];

const onPath = () =>
  ['chromium', 'chromium-browser']
    .map((name) => findOnPath(name, process.env['PATH']))
    .find((found) => found !== undefined);

/**
 * Finds Chromium: what CHROMIUM_PATH names, or what is on PATH; else installs the package of Debian, as root.
 *
 * @returns absolute path of its program
 * @throws Error that says what to do
 */
export async function provideBrowser(): Promise<string> {
  const named = process.env['CHROMIUM_PATH']?.trim() ?? '';
  const program =
    named === ''
      ? (onPath() ?? (await installed()))
      : findOnPath(path.basename(named), path.dirname(path.resolve(named)));
  if (program !== undefined) return program;
  throw new Error('No browser was found: install Chromium, or set CHROMIUM_PATH to its program.');
}

async function installed(): Promise<string | undefined> {
  const aptGet = findOnPath('apt-get', process.env['PATH']);
  if (aptGet === undefined || process.getuid?.() !== 0) return undefined;
  process.stderr.write("No browser found: installing Debian's chromium (apt-get).\n");
  const settings = {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    timeout: COMMAND_DEADLINE_MS,
  };
  const install = ['install', '-y', '-qq', '--no-install-recommends', ...PACKAGES];
  for (const args of [['update', '-qq'], install]) {
    await new Promise((resolve) => execFile(aptGet, args, settings, resolve));
  }
  return onPath();
}
