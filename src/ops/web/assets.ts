import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { route, type Route } from './http/route.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const PACKAGE = createRequire(import.meta.url).resolve('notice-queue/package.json');

/** A file or folder of this package, by its path there: this file may be a built one. */
export const ofPackage = (path: string): URL => new URL(path, pathToFileURL(PACKAGE));

/** Files that browsers load, unchanged from src/ops/web/assets, by name: no build step. */
const FILES = readAssets();
const STAMP = createHash('sha256')
  .update(JSON.stringify([...FILES]))
  .digest('hex')
  .slice(0, 12);

function readAssets(): ReadonlyMap<string, string> {
  const folder = ofPackage('src/ops/web/assets/');
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
