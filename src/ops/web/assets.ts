import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { z } from 'zod';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { route, type Route } from './http/route.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The folder of the assets: beside this file, or for a built file in dist beside its source. */
const PLACES = ['./assets/', '../../../../src/ops/web/assets/'];

/** Files that browsers load, unchanged from src/ops/web/assets, by name: no build step. */
const FILES = readAssets();
const STAMP = createHash('sha256')
  .update(JSON.stringify([...FILES]))
  .digest('hex')
  .slice(0, 12);

function readAssets(): ReadonlyMap<string, string> {
  const folder = PLACES.map((place) => new URL(place, import.meta.url)).find(existsSync);
  if (folder === undefined) throw new TypeError('the package lacks src/ops/web/assets');
  const names = readdirSync(folder).filter((name) => extname(name) in TYPES);
  return new Map(names.sort().map((name) => [name, readFileSync(new URL(name, folder), 'utf8')]));
}

/** Path of an asset, which changes with the files, so that browsers can cache it without limit. */
export function assetPath(name: string): string {
  return `/assets/${STAMP}/${name}`;
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
      const text = FILES.get(name);
      if (text === undefined) throw new NoticeQueueError('NOT_FOUND');
      // During an update a page of another version may request this asset: it must not be cached.
      const cache = stamp === STAMP ? 'public, max-age=31536000, immutable' : 'no-cache';
      void reply.header('cache-control', cache).type(TYPES[extname(name)] ?? '');
      return text;
    },
  }),
];
