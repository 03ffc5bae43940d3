import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

interface Locked {
  readonly hasInstallScript?: boolean;
  readonly resolved?: string;
}

const read = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
const manifest = read('package.json');
const locked = Object.entries(
  read('package-lock.json')['packages'] as Readonly<Record<string, Locked>>,
);

describe('package.json and its lock', () => {
  it('denies the install script of every package that has one', () => {
    const names = locked
      .filter(([, { hasInstallScript }]) => hasInstallScript === true)
      .map(([folder]) => folder.replace(/^.*node_modules\//, ''));
    const denied = Object.entries(manifest['allowScripts'] as Readonly<Record<string, boolean>>);
    expect(names.filter((name) => name !== '').length).toBeGreaterThan(0);
    expect(denied).toEqual(
      [...new Set(names)]
        .filter((name) => name !== '')
        .toSorted()
        .map((name) => [name, false]),
    );
  });

  it('names no registry', () => {
    expect(locked.filter(([, { resolved }]) => resolved?.startsWith('http') === true)).toEqual([]);
  });

  it('is built when npm packs it and when it is installed from git', () => {
    const scripts = manifest['scripts'] as Readonly<Record<string, string>>;
    expect(scripts['prepare']).toContain('build');
    expect(readFileSync('.npmrc', 'utf8')).not.toContain('ignore-scripts');
  });
});
