import { gunzipSync } from 'node:zlib';
import type { Written } from './search.ts';

/** Size of a header of tar; files are filled up to a multiple of it. */
const BLOCK = 512;
const SIZE_AT = 124;
const SIZE_LENGTH = 12;
const PREFIX_AT = 345;
const PREFIX_LENGTH = 155;

/**
 * Everything in an image that `docker save` wrote, each file as one thing that was written: the files of its layers,
 * also of compressed ones, their names, and the configuration with the history.
 * @param base digests of the layers of its base image, which are left out: no build can change them
 * @throws Error if a layer cannot be read, which would hide what it contains, or if there is none beside the base
 */
export function readSavedImage(saved: Buffer, base: readonly string[] = []): Written[] {
  const files = [...unpack('image', saved, 1)];
  const json = (name: string): unknown =>
    JSON.parse(files.find(({ place }) => place === `image: ${name}`)?.bytes.toString() ?? 'null');
  const [manifest] = json('manifest.json') as [{ Config: string; Layers: readonly string[] }];
  const config = json(manifest.Config) as { rootfs: { diff_ids: readonly string[] } };
  const places = manifest.Layers.map((layer) => `image: ${layer}`);
  const isOfBase = (index: number) => base.includes(config.rootfs.diff_ids[index] ?? '');
  const ours = places.filter((_, index) => !isOfBase(index));
  const written = files.flatMap((file) => {
    if (ours.includes(file.place)) return [...unpack(file.place, file.bytes)];
    return places.includes(file.place) ? [] : [file];
  });
  const unread = ours.filter(
    (layer) => !written.some(({ place }) => place.startsWith(`${layer}: `)),
  );
  if (ours.length === 0 || unread.length > 0) {
    throw new Error(`Of ${ours.length} layers these cannot be read: ${unread.join(', ')}`);
  }
  return written;
}

/** What lies in a tar file, in tar files within it, and so on down to a depth; anything else as it is. */
function* unpack(place: string, bytes: Buffer, depth = 9): Generator<Written> {
  const tar = gunzipped(bytes);
  if (depth === 0 || !isTar(tar)) {
    yield { place, bytes };
    return;
  }
  // Names, owners and targets of links.
  const headers: Buffer[] = [];
  for (let at = 0; at < tar.length && tar[at] !== 0;) {
    const header = tar.subarray(at, at + BLOCK);
    const size = Number.parseInt(textAt(header, SIZE_AT, SIZE_LENGTH), 8);
    const end = at + BLOCK + size;
    if (!isTar(header) || !(end <= tar.length)) throw new Error(`${place}: broken at byte ${at}`);
    yield* unpack(`${place}: ${nameIn(header)}`, tar.subarray(at + BLOCK, end), depth - 1);
    headers.push(header);
    at = Math.ceil(end / BLOCK) * BLOCK;
  }
  yield { place: `${place}: its headers`, bytes: Buffer.concat(headers) };
}

const isTar = (bytes: Buffer): boolean => textAt(bytes, 257, 5) === 'ustar';

function nameIn(header: Buffer): string {
  // GNU tar keeps times there.
  const prefix = header[262] === 0 ? textAt(header, PREFIX_AT, PREFIX_LENGTH) : '';
  return [prefix, textAt(header, 0, 100)].filter((part) => part !== '').join('/');
}

/** Text up to the first zero byte. */
function textAt(bytes: Buffer, at: number, length: number): string {
  const [text = ''] = bytes.toString('utf8', at, at + length).split('\0');
  return text;
}

function gunzipped(bytes: Buffer): Buffer {
  try {
    return bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes;
  } catch {
    return bytes;
  }
}
