import { readFileSync } from 'node:fs';

/**
 * How a code block of README is run:
 * - `http`: the request is sent to an emulator, whose answer must be the one shown
 *   (test/readme.promise.test.ts);
 * - `program`: run by Node in a project that has the package (test/readme.promise.test.ts);
 * - `shell`: typed into one shell, in README's order, in an empty folder that has the package, with a
 *   Redis; it runs the real emulator, workers and ops server (test/readme.promise.test.ts);
 * - `clone`: typed into a shell in a fresh clone of the repository (test/readme.release.test.ts);
 * - `application`: typed into a shell in an empty project beside the packed file
 *   (test/readme.release.test.ts);
 * - `output`: must be what the block before it prints (test/readme.release.test.ts).
 */
export type Runner = 'http' | 'program' | 'shell' | 'clone' | 'application' | 'output';

/** The code blocks of README in their order: how each begins, and how it is run. */
const RUNNERS: readonly (readonly [beginning: string, Runner])[] = [
  ['POST {BASE_URL}/api/v2/token', 'http'],
  ['POST {BASE_URL}/api/v2/notices/send', 'http'],
  ['npm ci\nnpm pack', 'clone'],
  ['npm install ./notice-queue', 'application'],
  ['import { NoticeQueue }', 'program'],
  ['npm ci\nnpm start', 'clone'],
  ['contacts handed over', 'output'],
  ['export REDIS_URL', 'shell'],
  ["printf 'contact,var1", 'shell'],
  ['npx notices ops new-key', 'shell'],
  ['curl ', 'shell'],
];

/** A code block of README. */
export interface ReadmeBlock {
  readonly code: string;
  /** Undefined where the table above has no row for the block. */
  readonly runner: Runner | undefined;
}

/** Every fenced block of README in its order, those inside of quotes included. */
export function readmeBlocks(): readonly ReadmeBlock[] {
  const readme = readFileSync('README.md', 'utf8').replaceAll(/^> ?/gm, '');
  return [...readme.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].map(([, code = ''], index) => {
    const [beginning, runner] = RUNNERS[index] ?? [];
    const isThis = beginning !== undefined && code.startsWith(beginning);
    return { code, runner: isThis ? runner : undefined };
  });
}

/** Number of blocks that the table names. */
export const KNOWN_BLOCKS = RUNNERS.length;

/** The code of the blocks that are run in one way, in README's order. */
export function blocksOf(runner: Runner): readonly string[] {
  return readmeBlocks().flatMap((block) => (block.runner === runner ? [block.code] : []));
}
