import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  judgeDependencies,
  type Dependencies,
} from '../../scripts/dependencies/judge-dependencies.ts';

const read = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));
const ours: Dependencies = {
  manifest: read('package.json') as Dependencies['manifest'],
  lock: read('package-lock.json') as Dependencies['lock'],
  page: readFileSync('docs/dependencies.md', 'utf8'),
};

type Locked = Dependencies['lock']['packages'][string];

/** Our dependencies after a change of one package of the lock; undefined removes it. */
function changed(folder: string, change: Partial<Locked> | undefined): Dependencies {
  const { [folder]: found, ...packages } = ours.lock.packages;
  const entry = change === undefined ? {} : { [folder]: { ...found, ...change } };
  return { ...ours, lock: { packages: { ...packages, ...entry } } };
}

/** A package as npm would lock it. */
const good = { version: '1.0.0', integrity: `sha512-${'A'.repeat(86)}==`, license: 'MIT' };

it('our dependencies pass', () => {
  expect(judgeDependencies(ours)).toEqual([]);
});

describe('a package of the lock is refused', () => {
  const zod = 'node_modules/zod';
  const tool = 'node_modules/prettier';
  const stranger = 'node_modules/stranger';
  it.each<readonly [string, string, Partial<Locked>, string]>([
    ['without a hash', zod, { integrity: '' }, 'zod@.* has no sha512 hash'],
    ['with a weak hash', zod, { integrity: `sha1-${'A'.repeat(27)}=` }, 'no sha512 hash'],
    ['a tool without a hash', tool, { integrity: '' }, 'prettier@.* has no sha512 hash'],
    [
      'a native tool of Linux without a hash',
      'node_modules/@oxlint/binding-linux-x64-gnu',
      { integrity: '' },
      'no sha512 hash',
    ],
    [
      'a native tool of another system without a hash',
      'node_modules/@oxlint/binding-darwin-arm64',
      { integrity: '' },
      'no sha512 hash',
    ],
    ['from an address', zod, { resolved: 'https://example.test/zod.tgz' }, 'names no address'],
    ['from git', zod, { resolved: 'git+ssh://git@example.test/zod.git#abc' }, 'names no address'],
    ['with a licence that binds us', zod, { license: 'GPL-3.0' }, 'zod@.*licence.*GPL-3.0'],
    ['with a licence that only tools may have', zod, { license: 'MPL-2.0' }, 'licence.*MPL-2.0'],
    ['a tool with another licence', tool, { license: 'SSPL-1.0' }, 'licence.*SSPL-1.0'],
    ['with an install script', zod, { hasInstallScript: true }, 'zod has an install script'],
    ['that is new', stranger, good, 'stranger is new.*Indirect'],
    ['that is new, and has no licence', stranger, { ...good, dev: true, license: '' }, 'licence'],
  ])('%s', (_name, folder, change, problem) => {
    const problems = judgeDependencies(changed(folder, change));
    expect(problems).toEqual([expect.stringMatching(problem)]);
  });
});

describe('a list that was not kept up is refused', () => {
  it('of direct dependencies', () => {
    const dependencies = { ...ours.manifest.dependencies, stranger: '1.0.0' };
    const problems = judgeDependencies({ ...ours, manifest: { ...ours.manifest, dependencies } });
    expect(problems).toEqual([expect.stringMatching('stranger is new.*Direct')]);
  });

  it('that lists what is gone', () => {
    const page = ours.page.replace('| `zod`', '| `gone` | | | |\n| `zod`');
    expect(judgeDependencies({ ...ours, page })).toEqual([expect.stringMatching('gone in docs')]);
    expect(judgeDependencies(changed('node_modules/ms', undefined))).toEqual([
      expect.stringMatching('ms in docs/dependencies.md .Indirect'),
    ]);
  });

  it('of install scripts', () => {
    const manifest = {
      ...ours.manifest,
      allowScripts: { ...ours.manifest.allowScripts, x: false },
    };
    expect(judgeDependencies({ ...ours, manifest })).toEqual([
      expect.stringMatching('x in allowScripts'),
    ]);
  });
});
