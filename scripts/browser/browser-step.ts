import { findOnPath } from '../redis/find-on-path.ts';

/** Variables that the search reads: CHROMIUM_PATH and PATH. */
type BrowserEnv = Readonly<Record<string, string | undefined>>;

/** Input of every step. */
export interface BrowserContext {
  readonly env: BrowserEnv;
  readonly say: (line: string) => void;
}

/** Absolute path of a browser, or one sentence why this step found none. */
export type FoundBrowser = { readonly program: string } | { readonly closed: string };

/**
 * One step of the search for a browser. It throws only when the search must stop: CHROMIUM_PATH does not
 * name a program.
 */
export type BrowserStep = (context: BrowserContext) => FoundBrowser | Promise<FoundBrowser>;

/** Names of the program, in search order. */
const PROGRAMS = ['chromium', 'chromium-browser'] as const;

/** The first of {@link PROGRAMS} on a PATH. */
export function browserOnPath({ PATH }: BrowserEnv): string | undefined {
  return PROGRAMS.map((name) => findOnPath(name, PATH)).find((found) => found !== undefined);
}
