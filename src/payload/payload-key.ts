import { createHash } from 'node:crypto';

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

/** The keys that decrypt payloads; the first is the current one, which also encrypts. */
export function payloadKeys(texts: {
  readonly payloadKey?: string | undefined;
  readonly payloadKeyPrevious?: string | undefined;
}): PayloadKey[] {
  return [texts.payloadKey, texts.payloadKeyPrevious]
    .filter((text) => text !== undefined)
    .map(payloadKey);
}
