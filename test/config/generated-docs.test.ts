import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { generatedFiles, staleFiles } from '../../scripts/generate-docs.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { Environment } from '../../src/config/environment.ts';
import { RULES } from '../../src/config/rules.ts';
import { metadataOf } from '../../src/config/variable.ts';
import { ROWS } from '../../src/config/variables.ts';
import { ERROR_CODES, type ErrorCode } from '../../src/contracts/errors.ts';
import { STATUS } from '../../src/ops/web/http/problem.ts';
import { REQUIRED } from './support.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('the generated files are fresh', async () => {
  expect(await staleFiles(ROOT)).toStrictEqual([]);
});

test('a file that is missing or edited is named', async () => {
  const root = temporaryFolder();
  const files = [...generatedFiles()];
  expect(await staleFiles(root)).toStrictEqual(files.map(([name]) => name));
  for (const [name, text] of files) {
    await mkdir(path.dirname(path.join(root, name)), { recursive: true });
    await writeFile(path.join(root, name), name === '.env.example' ? `${text}\n` : text);
  }
  expect(await staleFiles(root)).toStrictEqual(['.env.example']);
});

test('docs/ops-server.md has a row for every problem, with what to do', () => {
  const page = generatedFiles().get('docs/ops-server.md') ?? '';
  const rows = Object.entries(STATUS).map(
    ([code, status]) => `| ${status} | \`${code}\` | ${ERROR_CODES[code as ErrorCode].remedy} |`,
  );
  const others = [413, 414, 415].map((status) => `| ${status} | \`REQUEST_INVALID\` | `);
  for (const row of [...rows, ...others, '| 500 | `DEFECT` | ']) expect(page).toContain(row);
});

test('docs/commands.md names what only commands do, and which subcommand is the default', () => {
  const page = generatedFiles().get('docs/commands.md') ?? '';
  const rowOf = (name: string) =>
    page.split('\n').find((line) => line.startsWith(`| \`notices ${name}`)) ?? '';
  expect(rowOf('find')).toMatch(/FIND_KEY.*Ends with 1 if there are none/);
  expect(rowOf('erase')).toContain('after a preview');
  expect(rowOf('decide')).toMatch(/after a preview; --release-key releases/);
  expect(rowOf('results')).toContain('after the columns of the file');
  expect(rowOf('rate ')).toContain('"off" for no limit');
  for (const name of ['hold show', 'restored show', 'events list', 'ops serve']) {
    expect(rowOf(name)).toContain('(default).');
  }
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
