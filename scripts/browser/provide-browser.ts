import type { BrowserContext, BrowserStep } from './browser-step.ts';
import { fromAptGet } from './from-apt-get.ts';
import { fromEnvironment } from './from-environment.ts';
import { fromPath } from './from-path.ts';

/** The steps of the search, in order: installed browsers first. */
export const BROWSER_STEPS: readonly BrowserStep[] = [fromEnvironment, fromPath, fromAptGet];

/**
 * Finds or installs Chromium, as tests find or install Redis.
 *
 * @param context by default the process's environment, and messages to standard error
 * @returns absolute path of its program
 * @throws Error when every step fails; the message has the reason of each, and what to do
 */
export async function provideBrowser(
  context: Partial<BrowserContext> = {},
  steps: readonly BrowserStep[] = BROWSER_STEPS,
): Promise<string> {
  const env = context.env ?? process.env;
  const say = context.say ?? ((line: string) => process.stderr.write(`${line}\n`));
  const closed: string[] = [];
  for (const step of steps) {
    const found = await step({ env, say });
    if ('program' in found) return found.program;
    closed.push(found.closed);
  }
  const ways = closed.join(' ');
  throw new Error(
    `No browser was found: ${ways} Install Chromium, or set CHROMIUM_PATH to its program.`,
  );
}
