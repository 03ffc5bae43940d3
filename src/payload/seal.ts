import { createCipheriv, createDecipheriv, randomBytes, createHash } from 'node:crypto';
import { NoticeQueueError } from '../contracts/errors.ts';

/*
 * How contacts, and the token, are encrypted while Redis stores them: AES-256-GCM, in this form:
 *
 * version (1 byte) | id of the key (4) | nonce (12) | ciphertext | tag (16)
 *
 * Version, key id, account and place are authenticated: what is sealed opens only where it was sealed for, so that the
 * contacts of another list or notice cannot be put there, nor the frame of another list.
 */
const SEALED = 2;
const CIPHER = 'aes-256-gcm';
const HEAD_BYTES = 5;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** How an account encrypts the contacts that Redis stores. */
export interface Sealing {
  readonly account: string;
  /** All decrypt, the first also encrypts. None: contacts are stored unencrypted. */
  readonly keys: readonly PayloadKey[];
  /** Whether what is not encrypted is accepted. Workers with PAYLOAD_KEY refuse to send it; what only shows it accepts it. */
  readonly acceptsPlain: boolean;
}

/** Without keys: what is encrypted cannot be read. */
export const NO_SEALING: Sealing = { account: '', keys: [], acceptsPlain: true };

/** The sealing of one place. */
export interface Seal extends Sealing {
  /** What the contacts belong to: `batch <id>` or `job <id>`. */
  readonly place: string;
}

/** The settings of an account that have its keys. */
interface KeySettings {
  readonly payloadKey?: string | undefined;
  readonly payloadKeyPrevious?: string | undefined;
}

/**
 * The sealing of an account, from its settings.
 *
 * @param acceptsPlain false for what sends with a current key
 */
export function sealingOf(
  account: string,
  { payloadKey: current, payloadKeyPrevious: previous }: KeySettings,
  acceptsPlain = true,
): Sealing {
  const texts = [current, previous].filter((text) => text !== undefined);
  return { account, keys: texts.map(payloadKey), acceptsPlain };
}

/** For what sends. With the previous key alone it takes what is not encrypted, too, while producers get the key. */
export function workerSealing(account: string, settings: KeySettings): Sealing {
  return sealingOf(account, settings, settings.payloadKey === undefined);
}

/** For the contacts of a batch. Not of a chunk: a redrive moves them to other chunks of the batch. */
export const batchSeal = (by: Sealing, id: string): Seal => sealAt(by, `batch ${id}`);

/** For the job of a single notice, which keeps its id as long as it exists. */
export const jobSeal = (by: Sealing, id: string): Seal => sealAt(by, `job ${id}`);

/** For the part of the request body that the contacts of a batch share. */
export const frameSeal = (by: Sealing, id: string): Seal => sealAt(by, `frame ${id}`);

/** For the shared token, whose sealing has a key of its own. */
export const tokenSeal = (by: Sealing, id: string): Seal => sealAt(by, `token ${id}`);

/** For the secret of the account. */
export const accountSeal = (by: Sealing): Seal => sealAt(by, 'secret');

/** For the key of the do-not-send list. */
export const doNotSendSeal = (by: Sealing): Seal => sealAt(by, 'do-not-send');

/** Field by field: a worker makes one for each job. */
function sealAt({ account, keys, acceptsPlain }: Sealing, place: string): Seal {
  return { account, keys, acceptsPlain, place };
}

/** Encrypts with the current key. @returns undefined without one */
export function seal(plain: Buffer, by: Seal | undefined): Buffer | undefined {
  const key = by?.keys[0];
  if (by === undefined || key === undefined) return undefined;
  const head = Buffer.concat([Buffer.of(SEALED), key.id]);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key.key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(authenticated(head, by));
  return Buffer.concat([head, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/**
 * Decrypts what {@link seal} encrypted for the same place.
 *
 * @throws PayloadKeyMissing, or a NoticeQueueError PAYLOAD_UNREADABLE if the bytes
 *   are not sealed, are damaged, or were sealed for another place
 */
export function unseal(bytes: Buffer, by: Seal): Buffer {
  const version = bytes[0];
  if (version !== SEALED) throw unreadable(`have the unknown version ${version ?? 'none'}`);
  if (bytes.length < HEAD_BYTES + NONCE_BYTES + TAG_BYTES) throw unreadable('are cut off');
  const head = bytes.subarray(0, HEAD_BYTES);
  const keyId = head.readUInt32BE(1);
  const key = by.keys.find(({ id }) => id.readUInt32BE() === keyId);
  if (key === undefined) throw new PayloadKeyMissing();
  const nonce = bytes.subarray(HEAD_BYTES, HEAD_BYTES + NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, key.key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(authenticated(head, by));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const closed = bytes.subarray(HEAD_BYTES + NONCE_BYTES, -TAG_BYTES);
    const plain = decipher.update(closed);
    // Throws unless the tag is right; in this mode it adds no bytes.
    decipher.final();
    return plain;
  } catch {
    throw unreadable('are damaged, were changed, or belong elsewhere');
  }
}

/** @throws NoticeQueueError PAYLOAD_UNREADABLE if what is not sealed is refused here */
export function mayBePlain({ acceptsPlain }: Sealing): void {
  if (!acceptsPlain) throw unreadable('are not encrypted, although PAYLOAD_KEY is set');
}

function authenticated(head: Buffer, { account, place }: Seal): Buffer {
  return Buffer.concat([head, Buffer.from(`${account} ${place}`)]);
}

/** Contacts are encrypted with a key that this process does not have; another one may have it. */
export class PayloadKeyMissing extends NoticeQueueError {
  constructor() {
    super(
      'PAYLOAD_UNREADABLE',
      'The contacts are encrypted with a key that is not configured here.',
    );
  }
}

/** The error for stored contacts that cannot be read. @param what follows "The stored contacts" */
export function unreadable(what: string): NoticeQueueError {
  return new NoticeQueueError('PAYLOAD_UNREADABLE', `The stored contacts ${what}.`);
}

/** Takes the error of contacts that cannot be read: there are none then. @throws any other error */
export function noneUnreadable(error: unknown): undefined {
  if (error instanceof NoticeQueueError && error.code === 'PAYLOAD_UNREADABLE') return undefined;
  throw error;
}

/** A key that encrypts payloads. An encrypted payload contains the key's id. */
export interface PayloadKey {
  readonly key: Buffer;
  /** Four bytes that identify the key without revealing it. */
  readonly id: Buffer;
}

/** @param text a valid PAYLOAD_KEY: 32 bytes as base64 or hex */
export function payloadKey(text: string): PayloadKey {
  const key = Buffer.from(text, text.length === 64 ? 'hex' : 'base64');
  const id = createHash('sha256').update('notice-queue payload key id').update(key).digest();
  return { key, id: id.subarray(0, 4) };
}
