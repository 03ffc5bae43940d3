import { browserOnPath, type BrowserContext, type FoundBrowser } from './browser-step.ts';

/** The `chromium` on PATH. */
export function fromPath({ env }: BrowserContext): FoundBrowser {
  const program = browserOnPath(env);
  return program === undefined ? { closed: 'No chromium is on PATH.' } : { program };
}
