import { findOnPath } from '../redis/find-on-path.ts';

/** Variables that the search reads: CHROMIUM_PATH and PATH. */
type BrowserEnv = Readonly<Record<string, string | undefined>>;

/** What every way is told. */
export interface BrowserContext {
  readonly env: BrowserEnv;
  readonly say: (line: string) => void;
}

/** Absolute path of a browser's program, or in one sentence why this way to it is closed. */
export type FoundBrowser = { readonly program: string } | { readonly closed: string };

/**
 * One way to a browser. It throws only where looking further would be wrong: CHROMIUM_PATH names
 * something that is no program.
 */
export type BrowserStep = (context: BrowserContext) => FoundBrowser | Promise<FoundBrowser>;

/** Names of the program, in the order they are looked for. */
const PROGRAMS = ['chromium', 'chromium-browser'] as const;

/** The first of {@link PROGRAMS} on a PATH. */
export function browserOnPath({ PATH }: BrowserEnv): string | undefined {
  return PROGRAMS.map((name) => findOnPath(name, PATH)).find((found) => found !== undefined);
}
