import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { generatedFiles, staleFiles } from '../../scripts/generate-docs.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { Environment } from '../../src/config/environment.ts';
import { RULES } from '../../src/config/rules.ts';
import { metadataOf } from '../../src/config/variable.ts';
import { ROWS } from '../../src/config/variables.ts';
import { REQUIRED } from './support.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('the generated files are fresh', async () => {
  expect(await staleFiles(ROOT)).toStrictEqual([]);
});

test('a file that is missing or edited is named', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'notice-docs-'));
  onTestFinished(() => rm(root, { recursive: true }));
  const files = [...generatedFiles()];
  expect(await staleFiles(root)).toStrictEqual(files.map(([name]) => name));
  for (const [name, text] of files) {
    await mkdir(path.dirname(path.join(root, name)), { recursive: true });
    await writeFile(path.join(root, name), name === '.env.example' ? `${text}\n` : text);
  }
  expect(await staleFiles(root)).toStrictEqual(['.env.example']);
});

test('.env.example contains every variable, all commented out, with its default', async () => {
  const text = await readFile(path.join(ROOT, '.env.example'), 'utf8');
  const environment: Environment = Object.fromEntries(
    [...text.matchAll(/^#([A-Z0-9_]+)=(.*)$/gm)].map(([, name = '', value]) => [name, value]),
  );
  expect(Object.keys(environment)).toStrictEqual(ROWS.map(({ variable }) => variable));
  const set = Object.entries(environment).filter(([, value]) => value !== '');
  expect(set.length).toBeGreaterThan(20);
  expect(loadConfig({ ...environment, ...REQUIRED })).toStrictEqual(loadConfig(REQUIRED));
  // As it stands, nothing in it is in effect.
  expect(text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))).toStrictEqual([]);
  expect(text.match(/^# REQUIRED/gm)).toHaveLength(Object.keys(REQUIRED).length);
});

test('docs/configuration.md has a row for every variable and a line for every rule', () => {
  const page = generatedFiles().get('docs/configuration.md') ?? '';
  for (const row of ROWS) {
    const { secret } = metadataOf(row);
    const lock = secret === undefined ? '' : ' 🔒';
    expect(page.split(`\n| \`${row.variable}\`${lock} | `)).toHaveLength(2);
  }
  expect(page.match(/^- `[A-Z0-9_]+` (?:must|and) /gm)).toHaveLength(RULES.length + 1);
});
