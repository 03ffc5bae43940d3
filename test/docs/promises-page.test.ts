import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { tierOf, type Tier } from '../support/tiers.ts';

/** The tiers that `npm test` runs. */
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  scripts: Record<string, string>;
};
const RUN = [...(manifest.scripts['test'] ?? '').matchAll(/--project (\S+)/g)].map(
  ([, tier]) => tier as Tier,
);

const [, section = ''] = readFileSync('docs/promises.md', 'utf8').split(/^## .*$/m);
const promises = section
  .split(/^- /m)
  .slice(1)
  .map((text): [string, string[]] => [
    /^\*\*(.+?)\*\*/.exec(text)?.[1] ?? text,
    [...text.matchAll(/\]\(\.\.\/(test\/[^)]+)\)/g)].map(([, file = '']) => file),
  ]);

describe('docs/promises.md', () => {
  it('has promises', () => {
    expect(promises.length).toBeGreaterThan(5);
    expect(RUN).toContain('promise');
  });

  it.each(promises)('%s is proved by npm test', (_promise, files) => {
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
    const tiers = files.map(tierOf).filter((tier) => tier !== undefined);
    expect(tiers.some((tier) => RUN.includes(tier))).toBe(true);
  });
});
