import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { leaksOf } from './support/allowed.ts';
import { readFiles } from './support/read-redis.ts';
import { readPlanted, readSavedImage } from './support/saved-image.ts';
import { CanarySearch } from './support/search.ts';

const MINUTES_MS = 60_000;
/** The folder in which scripts/compose-smoke.sh leaves what it planted, and what came of it. */
const SMOKE = process.env['COMPOSE_SMOKE'] ?? '';

const SECRET = 'canary-of-an-image/%9Z';
const search = new CanarySearch([{ name: 'secret', value: SECRET }]);
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'notices-image-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

type Files = Readonly<Record<string, string | Buffer>>;

/** A tar file, as the tar of this machine writes it. */
function tarOf(files: Files): Buffer {
  const root = mkdtempSync(path.join(folder, 'tar-'));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), content);
  }
  const { status, stdout } = spawnSync('tar', ['-C', root, '-c', ...Object.keys(files)], {
    maxBuffer: 64 * 1_024 * 1_024,
  });
  expect(status).toBe(0);
  return stdout;
}

/** An image of two layers, as `docker save` writes it. */
function imageWith({ layer, history = '' }: { layer: Files | Buffer; history?: string }): Buffer {
  const manifest = [{ Config: 'config.json', Layers: ['first/layer.tar', 'blobs/sha256/second'] }];
  const rootfs = { diff_ids: ['sha256:first', 'sha256:second'] };
  return tarOf({
    'manifest.json': JSON.stringify(manifest),
    'config.json': JSON.stringify({ rootfs, history: [{ created_by: history }] }),
    // That of a base image, which is not searched.
    'first/layer.tar': tarOf({ 'bin/sh': SECRET }),
    'blobs/sha256/second': Buffer.isBuffer(layer) ? layer : tarOf(layer),
  });
}

const placesIn = (image: Buffer) => [
  ...new Set(search.in(readSavedImage(image, ['sha256:first'])).map(({ place }) => place)),
];

describe('a secret in a saved image is found', () => {
  const env = { 'app/.env': `SECRET_KEY=${SECRET}\n` };
  const base64 = Buffer.from(`user:${SECRET}`).toString('base64');
  const long = `app/${'deep/'.repeat(60)}${encodeURIComponent(SECRET)}`;

  it.each<readonly [string, () => Files | Buffer, readonly string[]]>([
    ['a file of a layer', () => ({ 'app/main.js': 'a program', ...env }), ['app/.env']],
    ['a compressed layer', () => gzipSync(tarOf({ 'app/auth': base64 })), ['app/auth']],
    ['a compressed file', () => ({ 'app/env.gz': gzipSync(SECRET.repeat(2)) }), ['app/env.gz']],
    ['an archive', () => ({ 'app/copy.tgz': gzipSync(tarOf(env)) }), ['app/copy.tgz']],
    [
      'the long name of a file',
      () => ({ [long]: '', 'app/last': SECRET }),
      ['its headers', 'app/last'],
    ],
  ])('in %s', (_, layer, names) => {
    const places = names.map((name) => `image: blobs/sha256/second: ${name}`);
    expect(placesIn(imageWith({ layer: layer() }))).toEqual(places);
  });

  it('in the history', () => {
    const history = `RUN |1 SECRET_KEY=${SECRET} npm ci`;
    const image = imageWith({ layer: { 'app/main.js': 'a program' }, history });
    expect(placesIn(image)).toEqual(['image: config.json']);
  });

  it('or the search fails, at a layer that cannot be read, and without any beside the base image', () => {
    const cut = tarOf({ 'app/main.js': 'x'.repeat(5_000) }).subarray(0, 2_048);
    for (const layer of [Buffer.from('28b52ffd00', 'hex'), Buffer.alloc(0), cut]) {
      expect(() => readSavedImage(imageWith({ layer }), ['sha256:first'])).toThrow(
        'image: blobs/sha256/second cannot be',
      );
    }
    const image = imageWith({ layer: env });
    expect(() => readSavedImage(image, ['sha256:first', 'sha256:second'])).toThrow('Of 0 layers');
  });
});

describe.runIf(SMOKE !== '')('secrets, numbers and values that lie in a checkout', () => {
  const planted = SMOKE === '' ? { canaries: [], files: [] } : readPlanted(`${SMOKE}/checkout`);
  const ofPlanted = new CanarySearch(planted.canaries);

  it('are found where they were planted', () => {
    const found = new Set(ofPlanted.in(planted.files).map(({ canary }) => canary));
    expect(found).toEqual(new Set(planted.canaries.map(({ name }) => name)));
    expect(found.size).toBeGreaterThan(30);
  });

  it(
    'are in no layer of the image built there, nor in its configuration and history',
    () => {
      const base = JSON.parse(readFileSync(path.join(SMOKE, 'base.json'), 'utf8')) as string[];
      const written = readSavedImage(readFileSync(path.join(SMOKE, 'image.tar')), base);
      const places = written.map(({ place }) => place).join('\n');
      expect(places).toMatch(/: app\/dist\/src\/cli\/main\.js$/m);
      expect(places).toMatch(/: app\/node_modules\/bullmq\/package\.json$/m);
      expect(leaksOf(ofPlanted.in(written))).toEqual([]);
    },
    5 * MINUTES_MS,
  );

  it('are in no log, environment or argument of a container', () => {
    const written = readFiles(path.join(SMOKE, 'left'), 'containers');
    const text = written.map(({ bytes }) => bytes.toString()).join('\n');
    // Logs, environment, arguments, processes and output were searched, not empty files.
    for (const part of ['accepted', 'NODE_ENV=production', '/deploy/start.sh', 'PID']) {
      expect(text).toContain(part);
    }
    expect(leaksOf(ofPlanted.in(written))).toEqual([]);
  });
});
