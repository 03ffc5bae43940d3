import { createHash } from 'node:crypto';

/** A key that seals payloads, with the id by which a sealed payload names it. */
export interface PayloadKey {
  readonly key: Buffer;
  /** Four bytes that tell the key from others and nothing about it. */
  readonly id: Buffer;
}

/** @param text 32 bytes as base64 or hex, as PAYLOAD_KEY was checked to be */
export function payloadKey(text: string): PayloadKey {
  const key = Buffer.from(text, text.length === 64 ? 'hex' : 'base64');
  const id = createHash('sha256').update('notice-queue payload key id').update(key).digest();
  return { key, id: id.subarray(0, 4) };
}

/** The keys that open payloads: the current one, which also seals, first. */
export function payloadKeys(texts: {
  readonly payloadKey?: string | undefined;
  readonly payloadKeyPrevious?: string | undefined;
}): PayloadKey[] {
  return [texts.payloadKey, texts.payloadKeyPrevious]
    .filter((text) => text !== undefined)
    .map(payloadKey);
}
