import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Notice } from '../../src/contracts/notice.ts';

const KEY = Buffer.alloc(32, 0x42);
const [NONCE_BYTES, TAG_BYTES] = [12, 16];

/** A job with an encrypted notice, as a user of BullMQ writes it: AES-256-GCM, in base64. */
export interface SealedNotice {
  readonly sealed: string;
}

export function sealNotice(notice: Notice): SealedNotice {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', KEY, nonce);
  const text = Buffer.concat([cipher.update(JSON.stringify(notice)), cipher.final()]);
  return { sealed: Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64') };
}

export function openNotice({ sealed }: SealedNotice): Notice {
  const bytes = Buffer.from(sealed, 'base64');
  const start = NONCE_BYTES + TAG_BYTES;
  const decipher = createDecipheriv('aes-256-gcm', KEY, bytes.subarray(0, NONCE_BYTES));
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, start));
  const text = Buffer.concat([decipher.update(bytes.subarray(start)), decipher.final()]);
  return JSON.parse(text.toString()) as Notice;
}
