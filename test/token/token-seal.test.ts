import { describe, expect, it } from 'vitest';
import { TokenSeal } from '../../src/token/token-seal.ts';
import { tokenOf } from '../../src/token/token-value.ts';

const token = tokenOf('header.payload.signature');
const seal = new TokenSeal('secret', 'pair');

describe('TokenSeal', () => {
  it('opens what it sealed, and shows nothing of it', () => {
    const sealed = seal.seal(token);
    expect(seal.unseal(token.id, sealed)).toEqual(token);
    expect(sealed).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]{16}\.[\w-]+$/);
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('payload');
  });

  it('seals the same token to another text each time', () => {
    expect(seal.seal(token)).not.toBe(seal.seal(token));
  });

  it('opens in another process that has the same secret and pair', () => {
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
    ['a cut text', sealed.slice(0, -8)],
    ['a tag and nothing else', [version, keyId, nonce, closed.slice(0, 20)].join('.')],
    ['a short nonce', [version, keyId, nonce.slice(4), closed].join('.')],
    ['a part too many', `${sealed}.more`],
    ['a foreign key id with our text', [version, '00000000', nonce, closed].join('.')],
    ['the token itself', token.value],
    ['nothing', ''],
  ])('answers nothing for %s', (_, text) => {
    expect(seal.unseal(token.id, text)).toBeUndefined();
  });

  it('does not open a record that was moved under another id', () => {
    expect(seal.unseal(tokenOf('another').id, sealed)).toBeUndefined();
  });
});
