import { describe, expect, it } from 'vitest';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { tokenOf } from '../../src/token/token-value.ts';

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
