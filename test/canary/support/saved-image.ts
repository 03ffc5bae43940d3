import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Canary } from './forms.ts';
import type { Written } from './search.ts';

/**
 * Everything in an image that `docker save` wrote, each file as one thing that was written: the files of its layers,
 * also of compressed ones, their names, and the configuration with the history.
 * @param base digests of the layers of its base image, which are left out: no build can change them
 * @throws Error if a layer cannot be read, which would hide what it contains, or if there is none beside the base
 */
export function readSavedImage(saved: Buffer, base: readonly string[] = []): Written[] {
  const files = unpack('image', saved);
  const read = (name: string) => files.find(({ place }) => place === `image: ${name}`)?.bytes;
  const json = (name: string): unknown => JSON.parse(read(name)?.toString() ?? 'null');
  const [manifest] = json('manifest.json') as [{ Config: string; Layers: readonly string[] }];
  const config = json(manifest.Config) as { rootfs: { diff_ids: readonly string[] } };
  const ofBase = new Set(base);
  const layers = manifest.Layers.filter(
    (_, index) => !ofBase.has(config.rootfs.diff_ids[index] ?? ''),
  );
  if (layers.length === 0) throw new Error('Of 0 layers nothing can be read');
  const places = new Set(manifest.Layers.map((layer) => `image: ${layer}`));
  return [
    ...files.filter(({ place }) => !places.has(place)),
    ...layers.flatMap((layer) => unpack(`image: ${layer}`, read(layer) ?? Buffer.alloc(0))),
  ];
}

/** What lies in a tar file, by the tar of this machine: files by their names, and names, owners and targets of links. */
function unpack(place: string, bytes: Buffer): Written[] {
  const folder = mkdtempSync(path.join(tmpdir(), 'notices-layer-'));
  try {
    const input = bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes;
    const tar = (...args: string[]) =>
      spawnSync('tar', args, { cwd: folder, input, maxBuffer: 2 ** 30 });
    const { status, stdout } = tar('--list', '--verbose', '--file=-');
    if (status !== 0 || stdout.length === 0) throw new Error(`${place} cannot be read`);
    if (tar('--extract', '--file=-').status !== 0) throw new Error(`${place} cannot be unpacked`);
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const file = path.join(entry.parentPath, entry.name);
        return { place: `${place}: ${path.relative(folder, file)}`, bytes: readFileSync(file) };
      });
    return [{ place: `${place}: its headers`, bytes: stdout }, ...files];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const TOKEN = ':_authToken=';

/** What `scripts/compose-smoke.sh` planted. */
interface Planted {
  readonly canaries: readonly Canary[];
  /** The files in which they lie. */
  readonly files: readonly Written[];
}

/** Reads the secrets, numbers and values of a checkout, where a user has them: each line or file names one. */
export function readPlanted(checkout: string): Planted {
  const secrets = readdirSync(path.join(checkout, 'secrets')).map((name) => `secrets/${name}`);
  const names = ['.env', '.npmrc', 'list.csv', ...secrets];
  const files = names.map((name) => ({
    place: name,
    bytes: readFileSync(path.join(checkout, name)),
  }));
  const canaries = files.flatMap(({ place, bytes }) =>
    bytes
      .toString()
      .split('\n')
      .filter((line) => line !== '')
      .flatMap((line) => canariesIn(place, line)),
  );
  return { canaries: [...new Map(canaries.map((one) => [one.value, one])).values()], files };
}

function canariesIn(file: string, line: string): Canary[] {
  const [before = '', after = ''] = line.split(/=(.*)/s);
  switch (file) {
    case '.env':
      return [{ name: `${before} in .env`, value: after.replaceAll(/^'|'$/g, '') }];
    case '.npmrc':
      return line.includes(TOKEN) ? [{ name: 'token in .npmrc', value: after }] : [];
    case 'list.csv': {
      const [number = '', value = ''] = line.split(',');
      return [
        { name: `number ${number}`, value: number, kind: 'number' },
        { name: 'value in list.csv', value },
      ];
    }
    default:
      return [{ name: file, value: line }];
  }
}
