import { randomBytes } from 'node:crypto';
import { constants, deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { payloadKey, payloadKeys } from '../../../src/batch/payload/payload-key.ts';
import { decodeContacts, encodePayload, openPayload } from '../../../src/batch/payload/payload.ts';

const CONTACTS = [
  { contact: '01012345678', var1: '홍길동', var2: 'A-1' },
  { contact: '01087654321', var1: '"quoted"\n' },
];
const JSON_TEXT = JSON.stringify(CONTACTS);
const key = payloadKey(randomBytes(32).toString('base64'));
const other = payloadKey(randomBytes(32).toString('hex'));

const refusal = async (bytes: Buffer, keys = [key]) =>
  openPayload(bytes, keys).then(
    () => 'opened',
    (error: { code: string; message: string }) => `${error.code} ${error.message}`,
  );

describe('a payload', () => {
  it.each([undefined, key])('gives back the very bytes, sealed or not (%#)', async (by) => {
    const payload = await encodePayload(JSON_TEXT, by);
    expect(payload[0]).toBe(by === undefined ? 1 : 2);
    expect((await openPayload(payload, [key])).toString()).toBe(JSON_TEXT);
    expect(await decodeContacts(payload, [key])).toStrictEqual(CONTACTS);
  });

  it('that is sealed shows nothing, and never twice the same', async () => {
    const [first, second] = await Promise.all([
      encodePayload(Buffer.from(JSON_TEXT), key),
      encodePayload(Buffer.from(JSON_TEXT), key),
    ]);
    expect(first.equals(second)).toBe(false);
    expect(first.includes(key.key)).toBe(false);
  });

  it('opens with the key before this one, which seals nothing', async () => {
    const [a, b] = [randomBytes(32).toString('hex'), randomBytes(32).toString('base64')];
    const old = await encodePayload(JSON_TEXT, payloadKey(a));
    const keys = payloadKeys({ payloadKey: b, payloadKeyPrevious: a });
    expect((await openPayload(old, keys)).toString()).toBe(JSON_TEXT);
    expect(keys[0]?.key.equals(Buffer.from(b, 'base64'))).toBe(true);
  });

  it('names one key in hex and in base64', () => {
    const bytes = randomBytes(32);
    const ids = [bytes.toString('hex'), bytes.toString('base64'), bytes.toString('base64url')].map(
      (text) => payloadKey(text).id.toString('hex'),
    );
    expect(new Set(ids).size).toBe(1);
  });

  it('that cannot be decrypted reports why', async () => {
    const sealed = await encodePayload(JSON_TEXT, key);
    const plain = await encodePayload(JSON_TEXT);
    expect(await refusal(sealed, [other])).toMatch(/^PAYLOAD_UNREADABLE .*encrypted with a key/);
    expect(await refusal(sealed, [])).toMatch(/encrypted with a key that is not configured/);
    expect(await refusal(sealed.subarray(0, 20))).toMatch(/is cut off/);
    expect(await refusal(plain.subarray(0, -4))).toMatch(/is damaged/);
    expect(await refusal(Buffer.of(9, 1, 2))).toMatch(/has the unknown version 9/);
    expect(await refusal(Buffer.alloc(0))).toMatch(/has the unknown version none/);
    for (const at of [5, 18, sealed.length - 1]) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(await refusal(changed)).toMatch(/is damaged or was changed/);
    }
    await expect(decodeContacts(await encodePayload('{}'), [])).rejects.toThrow(/no list/);
    await expect(decodeContacts(await encodePayload('[{'), [])).rejects.toThrow(/is damaged/);
  });

  it('that would open to more than any chunk holds is not opened', async () => {
    const mebibyte = deflateRawSync(Buffer.alloc(1024 * 1024), {
      finishFlush: constants.Z_FULL_FLUSH,
    });
    const bomb = (mebibytes: number) =>
      Buffer.concat([
        Buffer.of(1),
        ...Array.from({ length: mebibytes }, () => mebibyte),
        deflateRawSync(''),
      ]);
    expect((await openPayload(bomb(2), [])).length).toBe(2 * 1024 * 1024);
    expect(await refusal(bomb(257))).toMatch(/^PAYLOAD_UNREADABLE .*is damaged/);
  });
});
