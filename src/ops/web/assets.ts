import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { z } from 'zod';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { route, type Route } from './http/route.ts';

/**
 * A file that browsers load, as it stands in src/ops/web/assets or in a package: no build step changes
 * it.
 */
export interface Asset {
  readonly type: string;
  readonly body: Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A built file stands in dist and reads the assets beside its source; the package holds both. */
const PLACES = ['./assets/', '../../../../src/ops/web/assets/'];

/** Files of packages, by the names that browsers know. */
const PACKAGED = {
  'uplot.css': 'uplot/dist/uPlot.min.css',
  'uplot.js': 'uplot/dist/uPlot.esm.js',
} as const;

let kept: { readonly files: ReadonlyMap<string, Asset>; readonly stamp: string } | undefined;

function assets() {
  kept ??= readAssets();
  return kept;
}

/** Undefined where there is none of that name. */
export function findAsset(name: string): Asset | undefined {
  return assets().files.get(name);
}

/**
 * Path of an asset. It holds a hash of all assets, so that browsers may keep what they have for ever
 * and modules can import each other by their bare file names.
 */
export function assetPath(name: string): string {
  return `/assets/${assets().stamp}/${name}`;
}

/** Whether a path names the assets of this version. */
export function isCurrentStamp(stamp: string): boolean {
  return stamp === assets().stamp;
}

function readAssets() {
  const folder = PLACES.map((place) => new URL(place, import.meta.url)).find((url) =>
    existsSync(url),
  );
  if (folder === undefined) throw new TypeError('the package lacks src/ops/web/assets');
  const files = new Map<string, Asset>();
  const hash = createHash('sha256');
  const { resolve } = createRequire(import.meta.url);
  const places: [name: string, file: URL | string][] = [
    ...readdirSync(folder)
      .sort()
      .map((name): [string, URL] => [name, new URL(name, folder)]),
    ...Object.entries(PACKAGED).map(([name, file]): [string, string] => [name, resolve(file)]),
  ];
  for (const [name, file] of places) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const body = readFileSync(file);
    files.set(name, { type, body });
    hash.update(`${name}\n${body.length}\n`).update(body);
  }
  return { files, stamp: hash.digest('hex').slice(0, 12) };
}

/** Styles and scripts. They are the same for everybody, and the page to sign in needs them. */
export const ASSET_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/assets/:stamp/:name',
    needs: 'open',
    kind: 'asset',
    summary: 'A file that pages load.',
    params: z.strictObject({ stamp: z.string(), name: z.string() }),
    answers: { 200: { says: 'The file.', type: '*/*' }, 404: { says: 'There is none.' } },
    handle: ({ params: { stamp, name } }) => {
      const asset = findAsset(name);
      if (asset === undefined) throw new NoticeQueueError('NOT_FOUND');
      // A page of another version may ask this one during an update: it must not keep the answer.
      return { kind: 'file', ...asset, cache: isCurrentStamp(stamp) ? 'for-ever' : 'ask-again' };
    },
  }),
];
