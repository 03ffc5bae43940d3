import { promisify } from 'node:util';
import { constants, deflateRaw, inflateRaw, inflateRawSync } from 'node:zlib';
import type { Contact } from '../contracts/notice.ts';
import { rowsOf, writeRows } from './row-numbers.ts';
import {
  batchSeal,
  frameSeal,
  mayBePlain,
  NO_SEALING,
  seal,
  unreadable,
  unseal,
  type Seal,
  type Sealing,
} from './seal.ts';

/*
 * The format of a chunk's contacts in Redis: the compressed JSON array of the request body, which a worker
 * inserts into the body without parsing it, and after it where the contacts came from ({@link originsText}).
 *
 * The first byte is the version: 1 is deflated JSON; the others are the same, encrypted (seal.ts).
 */
const PLAIN = 1;
/**
 * A chunk with so many bytes of contacts is full, whatever its number of contacts: memory is bounded for any list, and
 * no chunk becomes larger than a worker can read. A thousand contacts have a few hundred kB.
 */
export const FULL_CHUNK_BYTES = 16 * 1024 * 1024;
/** The last contact of a chunk may exceed it. What Redis stores cannot fill more memory. */
const MAX_JSON_BYTES = 2 * FULL_CHUNK_BYTES;

/** zlib returns to the main thread for each piece of output of this many bytes. */
interface Pieces {
  readonly chunkSize: number;
}
const MIN_PIECE_BYTES = 16 * 1024;
const MAX_PIECE_BYTES = 1024 * 1024;
/** Contacts shrink to a quarter or a fifth: with this estimate most chunks need one piece. */
const SHRINKS_AT_LEAST = 3;
const GROWS_AT_MOST = 8;
/** Another thread takes longer to be asked than so few bytes take to be inflated. */
const FEW_BYTES = 1_024;

const deflate = promisify<Buffer | string, Pieces & { level: number }, Buffer>(deflateRaw);
const inflate = promisify<Buffer, Pieces & { maxOutputLength: number }, Buffer>(inflateRaw);

/** Where a contact came from; nothing of it is sent. */
interface ContactOrigin {
  readonly row: number;
  /** Columns of the list that are kept with it, and its cells. */
  readonly kept: Readonly<Record<string, string>>;
}

const origins = new WeakMap<object, ContactOrigin>();

/** The row of the list that a contact of {@link decodeContacts} came from; undefined where that is not known. */
export const rowOfContact = (contact: object): number | undefined => origins.get(contact)?.row;

/** Columns of the list that are kept with it. */
export const keptOfContact = (contact: object): ContactOrigin['kept'] =>
  origins.get(contact)?.kept ?? {};

/** The rows of contacts, as text; empty where they are not known. */
export const rowsOfContacts = (contacts: readonly object[]): string =>
  writeRows(contacts.flatMap((contact) => rowOfContact(contact) ?? []));

/** What follows the JSON array: the rows of the contacts in the list, in order ({@link RowNumbers}), and what is kept. */
export const originsText = (
  rows: string,
  keep: readonly string[] = [],
  cells: readonly (readonly string[])[] = [],
): string => `\n${JSON.stringify({ rows, ...(keep.length === 0 ? {} : { keep, cells }) })}`;

/** No JSON array that is written here has a line break. */
const MARK = '\n{"rows":';

/** The rows of a payload's contacts; empty where they are not known or cannot be read. */
export async function rowsOfPayload(bytes: Buffer, by?: Seal): Promise<string> {
  try {
    return readOrigins((await openPayload(bytes, by)).origins);
  } catch {
    return '';
  }
}

/** Encodes some of the contacts of a chunk again, with where they came from. */
export function encodeContacts(contacts: readonly unknown[], by?: Seal): Promise<Buffer> {
  const rows = contacts.flatMap((contact) =>
    typeof contact === 'object' && contact !== null ? (rowOfContact(contact) ?? []) : [],
  );
  const json = JSON.stringify(contacts);
  if (rows.length < contacts.length) return encodePayload(json, by);
  const kept = contacts.map((contact) => keptOfContact(contact as object));
  const keep = Object.keys(kept[0] ?? {});
  const cells = kept.map((own) => keep.map((name) => own[name] ?? ''));
  return encodePayload(`${json}${originsText(writeRows(rows), keep, cells)}`, by);
}

/** Remembers where parsed contacts came from. @param text of {@link originsText} */
export function noteOrigins(contacts: readonly unknown[], text: string): void {
  const { rows, keep = [], cells = [] } = parseOrigins(text);
  let index = 0;
  for (const row of rowsOf(rows)) {
    const contact = contacts[index];
    const own = cells[index] ?? [];
    const kept = Object.fromEntries(keep.map((name, at) => [name, own[at] ?? '']));
    if (typeof contact === 'object' && contact !== null) origins.set(contact, { row, kept });
    index += 1;
  }
}

/** The rows of {@link originsText}; empty where they are not known. */
export const readOrigins = (text: string): string => parseOrigins(text).rows;

const parseOrigins = (text: string) =>
  JSON.parse(text === '' ? '{"rows":""}' : text) as {
    readonly rows: string;
    readonly keep?: readonly string[];
    readonly cells?: readonly (readonly string[])[];
  };

/**
 * Compresses the JSON array of a chunk's contacts, off the main thread.
 *
 * @param by of the batch; encrypts it if it has a key. Default: not encrypted
 */
export async function encodePayload(json: Buffer | string, by?: Seal): Promise<Buffer> {
  if (Buffer.byteLength(json) > MAX_JSON_BYTES) throw unreadable('are too large for a chunk');
  const deflated = await deflate(json, {
    level: constants.Z_BEST_SPEED,
    chunkSize: pieceFor(json.length / SHRINKS_AT_LEAST),
  });
  return seal(deflated, by) ?? Buffer.concat([Buffer.of(PLAIN), deflated]);
}

/**
 * The bytes of the JSON array, not parsed, and where its contacts came from.
 *
 * @param by of the batch; not needed for a payload that is not encrypted
 * @throws NoticeQueueError PAYLOAD_UNREADABLE, as PayloadKeyMissing where only the key is missing
 */
export async function openPayload(
  bytes: Buffer,
  by: Seal = NO_SEAL,
): Promise<{ readonly contacts: Buffer; readonly origins: string }> {
  const deflated = deflatedOf(bytes, by);
  try {
    const pieces = {
      maxOutputLength: MAX_JSON_BYTES,
      chunkSize: pieceFor(deflated.length * GROWS_AT_MOST),
    };
    const isShort = deflated.length <= FEW_BYTES;
    const all = isShort ? inflateRawSync(deflated, pieces) : await inflate(deflated, pieces);
    const end = all.lastIndexOf(MARK);
    if (end < 0) return { contacts: all, origins: '' };
    return { contacts: all.subarray(0, end), origins: all.toString('utf8', end + 1) };
  } catch {
    throw unreadable('are damaged');
  }
}

/** The frame of a batch as Redis stores it: encrypted if there is a key. @param frame JSON */
export function sealFrame(frame: string, id: string, sealing: Sealing): string {
  return seal(Buffer.from(frame), frameSeal(sealing, id))?.toString('base64') ?? frame;
}

/**
 * What a worker needs of a claimed chunk: the frame of the request and the bytes of its contacts.
 *
 * @throws NoticeQueueError PAYLOAD_UNREADABLE, as PayloadKeyMissing where only the key is missing
 */
export async function openChunk(
  stored: { readonly frame: string; readonly payload: Buffer },
  id: string,
  sealing: Sealing,
): Promise<{ readonly frame: string; readonly contacts: Buffer; readonly origins: string }> {
  const frame = openFrame(stored.frame, id, sealing);
  return { frame, ...(await openPayload(stored.payload, batchSeal(sealing, id))) };
}

function openFrame(stored: string, id: string, sealing: Sealing): string {
  const isPlain = stored.startsWith('{');
  if (isPlain) mayBePlain(sealing);
  const frame = isPlain
    ? stored
    : unseal(Buffer.from(stored, 'base64'), frameSeal(sealing, id)).toString();
  try {
    JSON.parse(frame);
    return frame;
  } catch {
    throw unreadable('have a frame that is damaged');
  }
}

/** Reads only what is not encrypted. */
const NO_SEAL = batchSeal(NO_SEALING, '');

/**
 * The parsed contacts, to split, export or show a chunk; not needed to send it.
 *
 * @throws NoticeQueueError PAYLOAD_UNREADABLE
 */
export async function decodeContacts(bytes: Buffer, by?: Seal): Promise<Contact[]> {
  const opened = await openPayload(bytes, by);
  let contacts: unknown;
  try {
    contacts = JSON.parse(opened.contacts.toString());
  } catch {
    throw unreadable('are damaged');
  }
  if (
    !Array.isArray(contacts) ||
    !contacts.every((one) => typeof one === 'object' && one !== null)
  ) {
    throw unreadable('are not a list of objects');
  }
  noteOrigins(contacts, opened.origins);
  return contacts as Contact[];
}

function pieceFor(bytes: number): number {
  return Math.min(MAX_PIECE_BYTES, Math.max(MIN_PIECE_BYTES, Math.ceil(bytes)));
}

function deflatedOf(bytes: Buffer, by: Seal): Buffer {
  if (bytes[0] !== PLAIN) return unseal(bytes, by);
  mayBePlain(by);
  return bytes.subarray(1);
}
