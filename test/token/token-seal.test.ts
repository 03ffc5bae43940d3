import { describe, expect, it } from 'vitest';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { tokenOf, TokenSeal } from '../../src/token/token-seal.ts';

const token = tokenOf('header.payload.signature');
const seal = new TokenSeal('secret', 'pair');

describe('TokenSeal', () => {
  it('decrypts what it encrypted, and the text shows nothing of it', () => {
    const sealed = seal.seal(token);
    expect(seal.unseal(token.id, sealed)).toEqual(token);
    expect(sealed).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]{16}\.[\w-]+$/);
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('payload');
  });

  it('encrypts the same token to another text each time', () => {
    expect(seal.seal(token)).not.toBe(seal.seal(token));
  });

  it('decrypts in another process with the same secret and pair', () => {
    expect(new TokenSeal('secret', 'pair').unseal(token.id, seal.seal(token))).toEqual(token);
  });

  const sealed = seal.seal(token);
  const [version, keyId, nonce = '', closed = ''] = sealed.split('.');
  const flipped = Buffer.from(closed, 'base64url');
  flipped[3] = (flipped[3] ?? 0) ^ 1;
  it.each([
    ['another secret', new TokenSeal('other', 'pair').seal(token)],
    ['another pair', new TokenSeal('secret', 'other').seal(token)],
    ['another version', ['v2', keyId, nonce, closed].join('.')],
    ['a changed bit', [version, keyId, nonce, flipped.toString('base64url')].join('.')],
    ['a truncated text', sealed.slice(0, -8)],
    ['a tag and nothing else', [version, keyId, nonce, closed.slice(0, 20)].join('.')],
    ['a short nonce', [version, keyId, nonce.slice(4), closed].join('.')],
    ['a part too many', `${sealed}.more`],
    ['a foreign key id with our text', [version, '00000000', nonce, closed].join('.')],
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
