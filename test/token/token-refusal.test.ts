import { describe, expect, it } from 'vitest';
import { NoticeQueueError, TokenRefusedError, type ErrorCode } from '../../src/contracts/errors.ts';
import {
  readRefusal,
  refusalOf,
  refusalSpan,
  refusedError,
} from '../../src/token/token-refusal.ts';

const rows: [ErrorCode, 'credentials' | 'unavailable'][] = [
  ['INVALID_ACCESS_KEY', 'credentials'],
  ['ACCESS_KEY_NOT_APPROVED', 'credentials'],
  ['IP_NOT_ALLOWED', 'credentials'],
  ['SERVICE_REFUSED', 'credentials'],
  ['TOKEN_INVALID', 'unavailable'],
  ['TOKEN_UNAVAILABLE', 'unavailable'],
  ['SERVICE_UNREACHABLE', 'unavailable'],
];

describe('refusalOf', () => {
  it.each(rows)('an issuance that threw %s is recorded as %s', (code, kind) => {
    expect(refusalOf(new NoticeQueueError(code))).toEqual({ kind, code });
  });

  it('treats any other error as an endpoint that failed', () => {
    const expected = { kind: 'unavailable', code: 'TOKEN_UNAVAILABLE' };
    expect(refusalOf(new TypeError('x'))).toEqual(expected);
    expect(refusalOf('x')).toEqual(expected);
  });
});

describe('refusalSpan', () => {
  const settings = { refusedMinMs: 2000, refusedMaxMs: 60_000 };
  it.each([
    ['credentials', 2000, 60_000],
    ['contested', 2000, 60_000],
    ['unavailable', 500, 30_000],
  ] as const)('%s is in effect from %d to %d ms', (kind, minMs, maxMs) => {
    expect(refusalSpan(kind, settings)).toEqual({ minMs, maxMs });
  });
});

describe('refusedError', () => {
  it.each([
    ['credentials', 'IP_NOT_ALLOWED', 'credentials', 'IP_NOT_ALLOWED'],
    ['contested', 'TOKEN_CONTESTED', 'token-contested', 'TOKEN_CONTESTED'],
    ['unavailable', 'TOKEN_INVALID', 'token-unavailable', 'TOKEN_UNAVAILABLE'],
  ] as const)('%s by %s is a hold %s with code %s', (kind, refusalCode, hold, code) => {
    const error = refusedError({ kind, code: refusalCode, restMs: 1500 });
    expect(error).toBeInstanceOf(TokenRefusedError);
    expect(error).toMatchObject({ hold, code, refusalCode, retryInMs: 1500 });
    expect(error.message).toContain('for the next 2 s');
  });

  it('reads an unknown record as an endpoint that failed', () => {
    expect(readRefusal('nonsense', 'toString', 9)).toEqual({
      kind: 'unavailable',
      code: 'TOKEN_UNAVAILABLE',
      restMs: 9,
    });
  });
});
