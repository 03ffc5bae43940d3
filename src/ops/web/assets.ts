import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { z } from 'zod';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { route, type Route } from './http/route.ts';

/**
 * A file that browsers load, unchanged from src/ops/web/assets: no build step.
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

/** The folder of the assets: beside this file, or for a built file in dist beside its source. */
const PLACES = ['./assets/', '../../../../src/ops/web/assets/'];

let kept: { readonly files: ReadonlyMap<string, Asset>; readonly stamp: string } | undefined;

function assets() {
  kept ??= readAssets();
  return kept;
}

/** @returns undefined where there is no asset of that name */
export function findAsset(name: string): Asset | undefined {
  return assets().files.get(name);
}

/**
 * Path of an asset. It contains a hash of all assets, so that browsers can cache them without limit
 * and modules can import each other by file name.
 */
export function assetPath(name: string): string {
  return `/assets/${assets().stamp}/${name}`;
}

function readAssets() {
  const folder = PLACES.map((place) => new URL(place, import.meta.url)).find((url) =>
    existsSync(url),
  );
  if (folder === undefined) throw new TypeError('the package lacks src/ops/web/assets');
  const files = new Map<string, Asset>();
  const hash = createHash('sha256');
  for (const name of readdirSync(folder).sort()) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const body = readFileSync(new URL(name, folder));
    files.set(name, { type, body });
    hash.update(`${name}\n${body.length}\n`).update(body);
  }
  return { files, stamp: hash.digest('hex').slice(0, 12) };
}

/** Styles and scripts; they need no sign-in, because the sign-in page loads them. */
export const ASSET_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/assets/:stamp/:name',
    needs: 'open',
    kind: 'asset',
    summary: 'A file that pages load.',
    input: z.object({ stamp: z.string(), name: z.string() }),
    handle: ({ input: { stamp, name }, reply }) => {
      const asset = findAsset(name);
      if (asset === undefined) throw new NoticeQueueError('NOT_FOUND');
      // During an update a page of another version may request this asset: it must not be cached.
      const cache = stamp === assets().stamp ? 'public, max-age=31536000, immutable' : 'no-cache';
      void reply.header('cache-control', cache).type(asset.type);
      return asset.body;
    },
  }),
];
