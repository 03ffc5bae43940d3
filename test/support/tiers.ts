/**
 * The tiers of tests, from the fast to the slow, and what a file of each may need. The end of a
 * file's name says its tier: `*.integration.test.ts`; what names none is a unit test. Each tier is a
 * project of vitest of that name.
 */
export const TIERS = {
  unit: 'its own process: no Redis and no other process that outlives a call',
  integration: 'a Redis, and one process of each command',
  promise: 'real processes, for the shortest proof of one promise of README',
  fleet: 'real processes, which are killed and frozen; exact costs, and long walks against a model',
  release: 'minutes: kills at random moments of large lists, other kinds of Redis',
  chaos: 'a quarter of an hour: the scenarios of docs/reliability.md',
  browser: 'a browser',
} as const;

/** Name of a tier. */
export type Tier = keyof typeof TIERS;

/** The tier of a test file; undefined for another file, or where it names a tier that is none. */
export function tierOf(file: string): Tier | undefined {
  const named = /\.(?:([^./]+)\.)?test\.ts$/.exec(file);
  if (named === null) return undefined;
  const tier = named[1] ?? 'unit';
  return tier in TIERS && named[1] !== 'unit' ? (tier as Tier) : undefined;
}

/** The files of a tier, as vitest takes them. */
export function filesOf(tier: Tier): { include: string[]; exclude: string[] } {
  if (tier !== 'unit') return { include: [`test/**/*.${tier}.test.ts`], exclude: [] };
  return { include: ['test/**/*.test.ts'], exclude: ['test/**/*.*.test.ts'] };
}
