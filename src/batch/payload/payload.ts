import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, deflateRaw, inflateRaw } from 'node:zlib';
import type { Contact } from '../../contracts/notice.ts';
import { NoticeQueueError } from '../../contracts/errors.ts';
import type { PayloadKey } from './payload-key.ts';

/*
 * The format of a chunk's contacts in Redis: the compressed JSON array of the request body. A worker
 * inserts it into the body without parsing it.
 *
 * The first byte is the version:
 * - 1: deflated JSON.
 * - 2: encrypted: id of the key (4 bytes), nonce (12), the deflated JSON under AES-256-GCM, tag (16).
 *   Version and key id are authenticated. A payload is not bound to its chunk, because a redrive moves
 *   contacts to other chunks.
 */
const PLAIN = 1;
const SEALED = 2;
const CIPHER = 'aes-256-gcm';
const HEAD_BYTES = 5;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** The size of 10,000 contacts of 20 kB, more than any chunk; a damaged payload cannot fill memory. */
const MAX_JSON_BYTES = 256 * 1024 * 1024;

/** zlib returns to the main thread for each piece of output of this many bytes. */
interface Pieces {
  readonly chunkSize: number;
}
const MIN_PIECE_BYTES = 16 * 1024;
const MAX_PIECE_BYTES = 1024 * 1024;
/** Contacts shrink to a quarter or a fifth: with this estimate most chunks need one piece. */
const SHRINKS_AT_LEAST = 3;
const GROWS_AT_MOST = 8;

const deflate = promisify<Buffer | string, Pieces & { level: number }, Buffer>(deflateRaw);
const inflate = promisify<Buffer, Pieces & { maxOutputLength: number }, Buffer>(inflateRaw);

/**
 * Compresses the JSON array of a chunk's contacts, off the main thread.
 *
 * @param key encrypts it; not encrypted without one
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

/** A payload is encrypted with a key that this process does not have; another one may have it. */
export class PayloadKeyMissing extends NoticeQueueError {
  constructor() {
    super(
      'PAYLOAD_UNREADABLE',
      'The payload of a chunk is encrypted with a key that is not configured.',
    );
  }
}

/**
 * The bytes of the JSON array, not parsed.
 *
 * @param keys keys to decrypt with; not needed for a payload that is not encrypted
 * @throws NoticeQueueError PAYLOAD_UNREADABLE, as {@link PayloadKeyMissing} where only the key is missing
 */
export async function openPayload(bytes: Buffer, keys: readonly PayloadKey[]): Promise<Buffer> {
  const deflated = decrypt(bytes, keys);
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
 * The parsed contacts, to split, export or show a chunk; not needed to send it.
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
  if (!Array.isArray(contacts)) throw unreadable('contains no list of contacts');
  return contacts as Contact[];
}

function pieceFor(bytes: number): number {
  return Math.min(MAX_PIECE_BYTES, Math.max(MIN_PIECE_BYTES, Math.ceil(bytes)));
}

function decrypt(bytes: Buffer, keys: readonly PayloadKey[]): Buffer {
  const version = bytes[0];
  if (version === PLAIN) return bytes.subarray(1);
  if (version !== SEALED) throw unreadable(`has the unknown version ${version ?? 'none'}`);
  if (bytes.length < HEAD_BYTES + NONCE_BYTES + TAG_BYTES) throw unreadable('is cut off');
  const head = bytes.subarray(0, HEAD_BYTES);
  const key = keys.find(({ id }) => id.equals(head.subarray(1)));
  if (key === undefined) throw new PayloadKeyMissing();
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
