import { describe, expect, it } from 'vitest';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { tokenOf, TokenSeal } from '../../src/token/token-seal.ts';

const token = tokenOf('header.payload.signature');
const seal = new TokenSeal('secret', 'pair');
const sealed = seal.seal(token);

describe('TokenSeal', () => {
  it('decrypts what another process encrypted, and the text shows nothing of it', () => {
    expect(new TokenSeal('secret', 'pair').unseal(token.id, sealed)).toEqual(token);
    expect(Buffer.from(sealed, 'base64').toString('latin1')).not.toContain('payload');
    expect(seal.seal(token)).not.toBe(sealed);
  });

  it.each([
    ['another secret', token.id, new TokenSeal('other', 'pair').seal(token)],
    ['another pair', token.id, new TokenSeal('secret', 'other').seal(token)],
    ['another id', tokenOf('another').id, sealed],
    ['a truncated text', token.id, sealed.slice(0, -8)],
    ['the token itself', token.id, token.value],
    ['nothing', token.id, ''],
  ])('answers nothing for %s', (_, id, text) => {
    expect(seal.unseal(id, text)).toBeUndefined();
  });
});

describe('tokenOf', () => {
  it('names a token by the first 16 hex digits of its SHA-256', () => {
    expect(tokenOf('abc')).toEqual({ id: 'ba7816bf8f01cfea', value: 'abc' });
    expect(tokenOf('~'.repeat(8_192)).value).toHaveLength(8_192);
  });

  it.each([
    '',
    'canary b',
    'canary\r\nX: b',
    'canary\n',
    'canary\0',
    'canary 토큰',
    'canary'.repeat(1366),
  ])('refuses %j, without showing it', (value) => {
    const make = () => tokenOf(value);
    expect(make).toThrow(NoticeQueueError);
    expect(make).toThrow(expect.objectContaining({ code: 'TOKEN_INVALID' }));
    expect(make).not.toThrow('canary');
  });
});
