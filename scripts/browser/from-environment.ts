import path from 'node:path';
import { findOnPath } from '../redis/find-on-path.ts';
import type { BrowserContext, FoundBrowser } from './browser-step.ts';

/**
 * The program that CHROMIUM_PATH names. A wrong path ends the search: another browser would be
 * unexpected.
 */
export function fromEnvironment({ env }: BrowserContext): FoundBrowser {
  const named = env['CHROMIUM_PATH']?.trim() ?? '';
  if (named === '') return { closed: 'CHROMIUM_PATH is not set.' };
  const program = findOnPath(path.basename(named), path.dirname(path.resolve(named)));
  if (program === undefined) throw new Error('CHROMIUM_PATH does not name a program.');
  return { program };
}
