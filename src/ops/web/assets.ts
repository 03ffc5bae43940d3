import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';

/** A file that browsers load, as it stands in src/ops/web/assets: no build step changes it. */
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
  for (const name of readdirSync(folder).sort()) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const body = readFileSync(new URL(name, folder));
    files.set(name, { type, body });
    hash.update(`${name}\n${body.length}\n`).update(body);
  }
  return { files, stamp: hash.digest('hex').slice(0, 12) };
}
