import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, deflateRaw, inflateRaw } from 'node:zlib';
import type { Contact } from '../../contracts/notice.ts';
import { NoticeQueueError } from '../../contracts/errors.ts';
import type { PayloadKey } from './payload-key.ts';

/**
 * How a chunk's contacts stay in Redis: the bytes of the JSON array that stands in the body of the
 * send call, compressed once. A worker puts what it opens into the body as it is, unparsed.
 *
 * The first byte is the version:
 * - 1: deflated JSON;
 * - 2: sealed: id of the key (4 bytes), nonce (12), the deflated JSON under AES-256-GCM, tag (16).
 *   Version and key id are authenticated with it. A payload is not bound to its chunk: contacts move
 *   to other chunks when what failed is sent again.
 */
const PLAIN = 1;
const SEALED = 2;
const CIPHER = 'aes-256-gcm';
const HEAD_BYTES = 5;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** More than any chunk holds: 10,000 contacts of 20 kB. A damaged payload cannot fill the memory. */
const MAX_JSON_BYTES = 256 * 1024 * 1024;

/** zlib comes back to the main thread for each piece of output of so many bytes. */
interface Pieces {
  readonly chunkSize: number;
}
const MIN_PIECE_BYTES = 16 * 1024;
const MAX_PIECE_BYTES = 1024 * 1024;
/** Contacts shrink to a fourth or a fifth: with this much room most chunks take one piece. */
const SHRINKS_AT_LEAST = 3;
const GROWS_AT_MOST = 8;

const deflate = promisify<Buffer | string, Pieces & { level: number }, Buffer>(deflateRaw);
const inflate = promisify<Buffer, Pieces & { maxOutputLength: number }, Buffer>(inflateRaw);

/**
 * Compresses the JSON array of a chunk's contacts, off the main thread.
 *
 * @param key seals it; stored as it is without one
 */
export async function encodePayload(json: Buffer | string, key?: PayloadKey): Promise<Buffer> {
  const deflated = await deflate(json, {
    level: constants.Z_BEST_SPEED,
    chunkSize: pieceFor(json.length / SHRINKS_AT_LEAST),
  });
  if (key === undefined) return Buffer.concat([Buffer.of(PLAIN), deflated]);
  const head = Buffer.concat([Buffer.of(SEALED), key.id]);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key.key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(head);
  return Buffer.concat([head, nonce, cipher.update(deflated), cipher.final(), cipher.getAuthTag()]);
}

/**
 * The bytes of the JSON array, not parsed.
 *
 * @param keys that may have sealed it; a payload that is not sealed opens without
 * @throws NoticeQueueError PAYLOAD_UNREADABLE
 */
export async function openPayload(bytes: Buffer, keys: readonly PayloadKey[]): Promise<Buffer> {
  const deflated = unsealed(bytes, keys);
  try {
    return await inflate(deflated, {
      maxOutputLength: MAX_JSON_BYTES,
      chunkSize: pieceFor(deflated.length * GROWS_AT_MOST),
    });
  } catch {
    throw unreadable('is damaged');
  }
}

/**
 * The contacts themselves: for taking a chunk apart, exporting it and showing it, never for sending.
 *
 * @throws NoticeQueueError PAYLOAD_UNREADABLE
 */
export async function decodeContacts(
  bytes: Buffer,
  keys: readonly PayloadKey[],
): Promise<Contact[]> {
  const json = await openPayload(bytes, keys);
  let contacts: unknown;
  try {
    contacts = JSON.parse(json.toString());
  } catch {
    throw unreadable('is damaged');
  }
  if (!Array.isArray(contacts)) throw unreadable('holds no list of contacts');
  return contacts as Contact[];
}

function pieceFor(bytes: number): number {
  return Math.min(MAX_PIECE_BYTES, Math.max(MIN_PIECE_BYTES, Math.ceil(bytes)));
}

function unsealed(bytes: Buffer, keys: readonly PayloadKey[]): Buffer {
  const version = bytes[0];
  if (version === PLAIN) return bytes.subarray(1);
  if (version !== SEALED) throw unreadable(`has version ${version ?? 'none'}, which is not known`);
  if (bytes.length < HEAD_BYTES + NONCE_BYTES + TAG_BYTES) throw unreadable('is cut off');
  const head = bytes.subarray(0, HEAD_BYTES);
  const key = keys.find(({ id }) => id.equals(head.subarray(1)));
  if (key === undefined) throw unreadable('is sealed with a key that is not at hand');
  const nonce = bytes.subarray(HEAD_BYTES, HEAD_BYTES + NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, key.key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(head);
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const closed = bytes.subarray(HEAD_BYTES + NONCE_BYTES, -TAG_BYTES);
    return Buffer.concat([decipher.update(closed), decipher.final()]);
  } catch {
    throw unreadable('is damaged or was changed');
  }
}

function unreadable(what: string): NoticeQueueError {
  return new NoticeQueueError('PAYLOAD_UNREADABLE', `The payload of a chunk ${what}.`);
}
