import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { VERSION } from '../../src/contracts/version.ts';

const read = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
const manifest = read('package.json');

it('is built when npm packs it and when it is installed from git', () => {
  const scripts = manifest['scripts'] as Readonly<Record<string, string>>;
  expect(scripts['prepare']).toContain('build');
  expect(readFileSync('.npmrc', 'utf8')).not.toContain('ignore-scripts');
});

it('says the version of package.json', () => {
  expect(VERSION).toBe(manifest['version']);
});
