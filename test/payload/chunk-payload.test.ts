import { randomBytes } from 'node:crypto';
import { constants, deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  payloadKey,
  sealingOf,
  type PayloadKey,
  batchSeal,
  type Seal,
} from '../../src/payload/seal.ts';
import {
  decodeContacts,
  encodePayload,
  openChunk,
  openPayload,
  sealFrame,
} from '../../src/payload/chunk-payload.ts';

const CONTACTS = [
  { contact: '01012345678', var1: '홍길동', var2: 'A-1' },
  { contact: '01087654321', var1: '"quoted"\n' },
];
const JSON_TEXT = JSON.stringify(CONTACTS);
const key = payloadKey(randomBytes(32).toString('base64'));
const other = payloadKey(randomBytes(32).toString('hex'));

/** The seal of batch `b` of the account `a`. */
const by = (...keys: PayloadKey[]): Seal =>
  batchSeal({ account: 'a', keys, acceptsPlain: true }, 'b');

const refusal = async (bytes: Buffer, opener = by(key)) =>
  openPayload(bytes, opener).then(
    () => 'opened',
    (error: { code: string; message: string }) => `${error.code} ${error.message}`,
  );

describe('a payload', () => {
  it('with more bytes than a chunk may have is not stored', async () => {
    await expect(encodePayload(Buffer.alloc(33 * 1024 * 1024, ' '))).rejects.toThrow(/too large/);
  });

  it.each([[], [key]])('gives back the very bytes, sealed or not (%#)', async (...keys) => {
    const payload = await encodePayload(JSON_TEXT, by(...keys));
    expect(payload[0]).toBe(keys.length === 0 ? 1 : 2);
    expect((await openPayload(payload, by(key))).contacts.toString()).toBe(JSON_TEXT);
    expect(await decodeContacts(payload, by(key))).toStrictEqual(CONTACTS);
  });

  it('that is sealed shows nothing, and never twice the same', async () => {
    const [first, second] = await Promise.all([
      encodePayload(Buffer.from(JSON_TEXT), by(key)),
      encodePayload(Buffer.from(JSON_TEXT), by(key)),
    ]);
    expect(first.equals(second)).toBe(false);
    expect(first.includes(key.key)).toBe(false);
  });

  it('opens with the key before this one, which seals nothing', async () => {
    const [a, b] = [randomBytes(32).toString('hex'), randomBytes(32).toString('base64')];
    const old = await encodePayload(JSON_TEXT, by(payloadKey(a)));
    const { keys } = sealingOf('', { payloadKey: b, payloadKeyPrevious: a });
    expect((await openPayload(old, by(...keys))).contacts.toString()).toBe(JSON_TEXT);
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
    const sealed = await encodePayload(JSON_TEXT, by(key));
    const plain = await encodePayload(JSON_TEXT);
    expect(await refusal(sealed, by(other))).toMatch(/^PAYLOAD_UNREADABLE .*encrypted with a key/);
    expect(await refusal(sealed, by())).toMatch(/encrypted with a key that is not configured here/);
    expect(await refusal(sealed.subarray(0, 20))).toMatch(/are cut off/);
    expect(await refusal(plain.subarray(0, -4))).toMatch(/are damaged/);
    expect(await refusal(Buffer.of(9, 1, 2))).toMatch(/have the unknown version 9/);
    expect(await refusal(Buffer.alloc(0))).toMatch(/have the unknown version none/);
    for (const at of [5, 18, sealed.length - 1]) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(await refusal(changed)).toMatch(/are damaged, were changed, or belong elsewhere/);
    }
    for (const other of ['{}', '[null]', '[{},1]']) {
      await expect(decodeContacts(await encodePayload(other))).rejects.toThrow(/are not a list/);
    }
    await expect(decodeContacts(await encodePayload('[{'))).rejects.toThrow(/are damaged/);
  });

  it('opens only in the account and the batch that it was sealed for', async () => {
    const sealed = await encodePayload(JSON_TEXT, by(key));
    for (const elsewhere of [
      { ...by(key), account: 'other' },
      batchSeal(by(key), 'b2'),
      { ...by(key), place: 'job b' },
    ]) {
      expect(await refusal(sealed, elsewhere)).toMatch(
        /are damaged, were changed, or belong elsewhere/,
      );
    }
  });

  it('that is not encrypted is refused by who sends with a key, and read by who shows', async () => {
    const sender = { ...by(key), acceptsPlain: false };
    const plain = await encodePayload(JSON_TEXT);
    expect(await refusal(plain, sender)).toMatch(/^PAYLOAD_UNREADABLE .*not encrypted/);
    expect((await openPayload(plain, by(key))).contacts.toString()).toBe(JSON_TEXT);
    expect(await refusal(await encodePayload(JSON_TEXT, by(key)), sender)).toBe('opened');
  });

  it('is sent only with the frame of its own list', async () => {
    const sealing = { account: 'a', keys: [key], acceptsPlain: false };
    const payload = await encodePayload(JSON_TEXT, by(key));
    const frame = sealFrame('{"templateCode":"T"}', 'b', sealing);
    expect(frame).not.toContain('templateCode');
    const opened = await openChunk({ frame, payload }, 'b', sealing);
    expect([opened.frame, opened.contacts.toString()]).toEqual(['{"templateCode":"T"}', JSON_TEXT]);
    for (const other of [
      sealFrame('{"templateCode":"U"}', 'c', sealing),
      sealFrame('{"templateCode":"U"}', 'b', { ...sealing, keys: [] }),
      payload.toString('base64'),
      'x',
    ]) {
      await expect(openChunk({ frame: other, payload }, 'b', sealing)).rejects.toMatchObject({
        code: 'PAYLOAD_UNREADABLE',
      });
    }
    await expect(
      openChunk({ frame: '{', payload }, 'b', { ...sealing, acceptsPlain: true }),
    ).rejects.toThrow(/damaged/);
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
    expect((await openPayload(bomb(2))).contacts.length).toBe(2 * 1024 * 1024);
    expect(await refusal(bomb(33))).toMatch(/^PAYLOAD_UNREADABLE .*are damaged/);
  });
});
