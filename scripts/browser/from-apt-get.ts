import { execFile } from 'node:child_process';
import { findOnPath } from '../redis/find-on-path.ts';
import { browserOnPath, type BrowserContext, type FoundBrowser } from './browser-step.ts';

const COMMAND_DEADLINE_MS = 600_000;
const PACKAGES = ['chromium', 'fonts-dejavu-core'] as const;

/** Installs the package of the distribution: Debian or a derivative, as root. */
export async function fromAptGet({ env, say }: BrowserContext): Promise<FoundBrowser> {
  const aptGet = findOnPath('apt-get', env['PATH']);
  if (aptGet === undefined) return { closed: 'This machine has no apt-get.' };
  if (process.getuid?.() !== 0) return { closed: 'Only root may install chromium.' };
  say("No browser found: installing Debian's chromium (apt-get).");
  const run = (args: readonly string[]) => succeeds(aptGet, args, env);
  const install = ['install', '-y', '-qq', '--no-install-recommends', ...PACKAGES];
  if (!((await run(['update', '-qq'])) && (await run(install)))) {
    return { closed: 'apt-get could not install chromium.' };
  }
  const program = browserOnPath(env);
  return program === undefined
    ? { closed: 'apt-get installed chromium, but it is not on PATH.' }
    : { program };
}

/** Whether the program exited with 0 in time. Its output is discarded. */
function succeeds(
  program: string,
  args: readonly string[],
  env: BrowserContext['env'],
): Promise<boolean> {
  const settings = {
    env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
    timeout: COMMAND_DEADLINE_MS,
  };
  return new Promise((resolve) => {
    execFile(program, [...args], settings, (error) => resolve(error === null));
  });
}
