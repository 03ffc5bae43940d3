import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LAYERS = '.oxlint-layers.json';

/** One folder's rule, as .oxlint-layers.json writes it. */
interface Override {
  readonly files: readonly string[];
  readonly rules: {
    readonly 'no-restricted-imports': readonly [
      string,
      { readonly patterns: readonly { readonly group: readonly string[] }[] },
    ];
  };
}

/** A layer that others may or may not import, by its folder. */
const LAYER_FOLDERS = [
  ...readdirSync(path.join(ROOT, 'src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `src/${name}`),
  'src/ops/web',
  ...readdirSync(path.join(ROOT, 'workers'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `workers/${name}`),
].sort();

/** The only folders that may import (nearly) everything: they compose. */
const COMPOSING = ['src/cli', 'src/testing', 'workers/process'];

/**
 * In a copy of the folder tree, every layer gets one file for each other layer, which imports it. The
 * linter then says which of these imports it refuses.
 */
describe('the layers', () => {
  let place: string;
  let refused: ReadonlySet<string>;

  beforeAll(async () => {
    place = mkdtempSync(path.join(tmpdir(), 'notice-queue-layers-'));
    for (const layer of LAYER_FOLDERS) {
      mkdirSync(path.join(place, layer), { recursive: true });
      writeFileSync(path.join(place, layer, 'target.ts'), 'export const target = 1;\n');
      for (const other of LAYER_FOLDERS) {
        if (other === layer) continue;
        const to = path.posix.relative(layer, `${other}/target.ts`);
        const spec = to.startsWith('.') ? to : `./${to}`;
        const text = `import { target } from '${spec}';\nexport const used = target;\n`;
        writeFileSync(path.join(place, layer, plantedName(other)), text);
      }
    }
    writeFileSync(path.join(place, LAYERS), readFileSync(path.join(ROOT, LAYERS)));
    refused = await lint(place);
  });
  afterAll(() => rmSync(place, { recursive: true, force: true }));

  it('each have an allow list', () => {
    const { overrides } = JSON.parse(readFileSync(path.join(ROOT, LAYERS), 'utf8')) as {
      overrides: readonly Override[];
    };
    const listed = new Set(
      overrides.flatMap(({ files }) => files.map((file) => file.replace(/\/\*.*$/, ''))),
    );
    expect(LAYER_FOLDERS.filter((layer) => !listed.has(layer))).toEqual([]);
  });

  it('refuse an import that a folder may not have, in each folder', () => {
    for (const layer of LAYER_FOLDERS) {
      const wrong = LAYER_FOLDERS.filter((other) => refused.has(`${layer} ${other}`));
      expect(wrong.length, `imports refused in ${layer}`).toBeGreaterThan(0);
    }
  });

  it.each(LAYER_FOLDERS.filter((layer) => !COMPOSING.includes(layer)))(
    '%s imports no composing layer: the CLI, the tests of applications, the process',
    (layer) => {
      for (const composing of COMPOSING) expect(refused).toContain(`${layer} ${composing}`);
    },
  );

  it('form no cycle: of two layers at most one imports the other, and so on round', () => {
    const imports = new Map(
      LAYER_FOLDERS.map((layer) => [
        layer,
        LAYER_FOLDERS.filter((other) => other !== layer && !refused.has(`${layer} ${other}`)),
      ]),
    );
    // What composes may import everything and is imported by nothing but entry points.
    for (const composing of COMPOSING) imports.delete(composing);
    const done = new Set<string>();
    const cycleFrom = (layer: string, way: readonly string[]): string | undefined => {
      if (way.includes(layer)) return [...way, layer].join(' > ');
      if (done.has(layer)) return undefined;
      for (const next of imports.get(layer) ?? []) {
        const cycle = imports.has(next) ? cycleFrom(next, [...way, layer]) : undefined;
        if (cycle !== undefined) return cycle;
      }
      done.add(layer);
      return undefined;
    };
    expect([...imports.keys()].map((layer) => cycleFrom(layer, []))).not.toContainEqual(
      expect.any(String),
    );
  });

  it.each([
    ['src/contracts', 'src/ops'],
    ['src/service', 'src/ops'],
    ['src/producer', 'src/ops'],
    ['src/producer', 'src/service'],
    ['src/service', 'src/redis'],
    ['src/token', 'src/service'],
    ['src/batch', 'src/producer'],
    ['src/ops', 'src/ops/web'],
    ['src/emulator', 'src/contracts'],
    ['workers/send', 'src/emulator'],
    ['workers/queue', 'workers/send'],
  ])('%s does not import %s', (layer, other) => {
    expect(refused).toContain(`${layer} ${other}`);
  });
});

const plantedName = (other: string) => `imports-${other.replaceAll('/', '--')}.ts`;

/** The planted imports that the linter refuses, as `folder other`. */
async function lint(folder: string): Promise<ReadonlySet<string>> {
  const program = path.join(ROOT, 'node_modules/oxlint/bin/oxlint');
  const args = [program, '--config', LAYERS, '--format', 'unix', '.'];
  const text = await new Promise<string>((resolve) => {
    execFile(
      process.execPath,
      args,
      { cwd: folder, maxBuffer: 64 * 1024 * 1024 },
      (_error, stdout) => resolve(stdout),
    );
  });
  const found = new Set<string>();
  for (const line of text.split('\n')) {
    const [, layer, other] =
      /([\w./-]+)\/imports-([\w-]+)\.ts:.*no-restricted-imports/.exec(line) ?? [];
    if (layer === undefined || other === undefined) continue;
    found.add(`${layer.replace(/^.*?(?=src\/|workers\/)/, '')} ${other.replaceAll('--', '/')}`);
  }
  return found;
}
