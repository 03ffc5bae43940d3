import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { NoticeQueueError } from '../contracts/errors.ts';
import { payloadKeys, type PayloadKey } from './payload-key.ts';

/*
 * How contacts are encrypted while Redis stores them: AES-256-GCM, in this form:
 *
 * version (1 byte) | id of the key (4) | nonce (12) | ciphertext | tag (16)
 *
 * Version 3 authenticates the account and the place beside version and key id: sealed contacts open only where
 * they were sealed for, so that those of another list or notice cannot be put there. Version 2, of earlier
 * versions of this program, authenticates only version and key id.
 */
const UNBOUND = 2;
const SEALED = 3;
const CIPHER = 'aes-256-gcm';
const HEAD_BYTES = 5;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** How an account encrypts the contacts that Redis stores. */
export interface Sealing {
  readonly account: string;
  /** All decrypt, the first also encrypts. None: contacts are stored unencrypted. */
  readonly keys: readonly PayloadKey[];
  /**
   * Whether contacts are accepted, in spite of a key, that are not encrypted or not bound to a place. Workers
   * refuse to send them; what only shows them accepts them.
   */
  readonly acceptsUnsealed: boolean;
}

/** Without keys: what is encrypted cannot be read. */
export const NO_SEALING: Sealing = { account: '', keys: [], acceptsUnsealed: true };

/** The sealing of one place. */
export interface Seal extends Sealing {
  /** What the contacts belong to: `batch <id>` or `job <id>`. */
  readonly place: string;
}

/**
 * The sealing of an account, from its settings.
 *
 * @param acceptsUnsealed false for what sends, unless it is configured otherwise
 */
export function sealingOf(
  account: string,
  keys: Parameters<typeof payloadKeys>[0],
  acceptsUnsealed = true,
): Sealing {
  return { account, keys: payloadKeys(keys), acceptsUnsealed };
}

/** For the contacts of a batch. Not of a chunk: a redrive moves them to other chunks of the batch. */
export function batchSeal(sealing: Sealing, id: string): Seal {
  return sealAt(sealing, `batch ${id}`);
}

/** For the job of a single notice, which keeps its id as long as it exists. */
export function jobSeal(sealing: Sealing, id: string): Seal {
  return sealAt(sealing, `job ${id}`);
}

/** Field by field: a worker makes one for each job. */
function sealAt({ account, keys, acceptsUnsealed }: Sealing, place: string): Seal {
  return { account, keys, acceptsUnsealed, place };
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
 * @throws PayloadKeyMissing, PayloadUnsealed, PayloadNewer, or a NoticeQueueError PAYLOAD_UNREADABLE if the bytes
 *   are not sealed, are damaged, or were sealed for another place
 */
export function unseal(bytes: Buffer, by: Seal): Buffer {
  const version = bytes[0];
  if (version !== undefined && version > SEALED) throw new PayloadNewer(version);
  if (version !== SEALED && version !== UNBOUND) {
    throw unreadable(`have the unknown version ${version ?? 'none'}`);
  }
  if (bytes.length < HEAD_BYTES + NONCE_BYTES + TAG_BYTES) throw unreadable('are cut off');
  if (version === UNBOUND) mayBeUnsealed(by);
  const head = bytes.subarray(0, HEAD_BYTES);
  const keyId = head.readUInt32BE(1);
  const key = by.keys.find(({ id }) => id.readUInt32BE() === keyId);
  if (key === undefined) throw new PayloadKeyMissing();
  const nonce = bytes.subarray(HEAD_BYTES, HEAD_BYTES + NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, key.key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(version === SEALED ? authenticated(head, by) : head);
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

/** @throws PayloadUnsealed if contacts that are not sealed are refused here */
export function mayBeUnsealed({ keys, acceptsUnsealed }: Sealing): void {
  if (keys.length > 0 && !acceptsUnsealed) throw new PayloadUnsealed();
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

/** There is a key, but the contacts are not encrypted, or as earlier versions did: someone may have put them there. */
export class PayloadUnsealed extends NoticeQueueError {
  constructor() {
    super(
      'PAYLOAD_UNREADABLE',
      'The contacts are not encrypted for this place, although PAYLOAD_KEY is set. Set it for producers too; during a transition, set UNSEALED_PAYLOADS=accept for workers.',
    );
  }
}

/** Contacts have a later version than this program knows; an updated worker can read them. */
export class PayloadNewer extends NoticeQueueError {
  constructor(version: number) {
    super(
      'PAYLOAD_UNREADABLE',
      `The stored contacts have the unknown version ${version}; this program knows up to ${SEALED}. Update it.`,
    );
  }
}

/** The error for stored contacts that cannot be read. @param what follows "The stored contacts" */
export function unreadable(what: string): NoticeQueueError {
  return new NoticeQueueError('PAYLOAD_UNREADABLE', `The stored contacts ${what}.`);
}
