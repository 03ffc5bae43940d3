import { describe, expect, it } from 'vitest';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { tokenOf, TokenSeal } from '../../src/token/token-seal.ts';

const token = tokenOf('header.payload.signature');
const seal = new TokenSeal('secret', 'pair');

describe('TokenSeal', () => {
  it('decrypts what it encrypted, and the text shows nothing of it', () => {
    const sealed = seal.seal(token);
    expect(seal.unseal(token.id, sealed)).toEqual(token);
    expect(Buffer.from(sealed, 'base64').toString('latin1')).not.toContain('payload');
  });

  it('encrypts the same token to another text each time', () => {
    expect(seal.seal(token)).not.toBe(seal.seal(token));
  });

  it('decrypts in another process with the same secret and pair', () => {
    expect(new TokenSeal('secret', 'pair').unseal(token.id, seal.seal(token))).toEqual(token);
  });

  const sealed = seal.seal(token);
  const bytes = Buffer.from(sealed, 'base64');
  const flipped = (at: number) => {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    return changed.toString('base64');
  };
  it.each([
    ['another secret', new TokenSeal('other', 'pair').seal(token)],
    ['another pair', new TokenSeal('secret', 'other').seal(token)],
    ['another version', flipped(0)],
    ['another key id', flipped(2)],
    ['another nonce', flipped(6)],
    ['a changed bit', flipped(20)],
    ['a truncated text', sealed.slice(0, -8)],
    ['a head and a tag alone', bytes.subarray(0, 33).toString('base64')],
    ['the token itself', token.value],
    ['nothing', ''],
  ])('answers nothing for %s', (_, text) => {
    expect(seal.unseal(token.id, text)).toBeUndefined();
  });

  it('does not decrypt a text that was moved to another id', () => {
    expect(seal.unseal(tokenOf('another').id, sealed)).toBeUndefined();
  });
});

describe('tokenOf', () => {
  it('names a token by the first 16 hex digits of its SHA-256', () => {
    expect(tokenOf('abc')).toEqual({ id: 'ba7816bf8f01cfea', value: 'abc' });
  });

  it('takes up to 8,192 printable characters', () => {
    expect(tokenOf('~'.repeat(8192)).value).toHaveLength(8192);
  });

  it.each([
    ['empty', ''],
    ['with a blank', 'canary b'],
    ['with a line break', 'canary\r\nX-Header: b'],
    ['with a line break at the end', 'canary\n'],
    ['with a control character', 'canary\u0000'],
    ['beyond ASCII', 'canary 토큰'],
    ['too long', 'canary'.repeat(1366)],
  ])('refuses one %s, without showing it', (_, value) => {
    const make = () => tokenOf(value);
    expect(make).toThrow(NoticeQueueError);
    expect(make).toThrow(expect.objectContaining({ code: 'TOKEN_INVALID' }));
    expect(make).not.toThrow('canary');
  });
});
