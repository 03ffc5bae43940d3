import { describe, expect, it } from 'vitest';
import { ERROR_CODES, NoticeQueueError } from '../../src/contracts/errors.ts';
import { judgeToken, type TokenSnapshot } from '../../src/doctor/judge-token.ts';

const TOKEN = {
  id: '0123456789abcdef',
  issuedAt: 1,
  ageMs: 1,
  fence: 1,
  issuer: 'host:1',
};
const NONE: TokenSnapshot = {
  status: { issuing: false, issuances: 0 },
  tried: undefined,
  budget: 400,
};
const LIVES: TokenSnapshot = {
  ...NONE,
  status: { issuing: false, issuances: 1, token: TOKEN },
};
const refused = (code: 'IP_NOT_ALLOWED' | 'INVALID_ACCESS_KEY'): TokenSnapshot => ({
  ...LIVES,
  status: { ...LIVES.status, refusal: { hold: 'credentials', code, until: 1 } },
});
const failed = (code: 'IP_NOT_ALLOWED' | 'SERVICE_UNREACHABLE'): TokenSnapshot => ({
  ...NONE,
  tried: { kind: 'failed', error: new NoticeQueueError(code) },
});

describe('the token', () => {
  it.each([
    ['is stored', LIVES, 'ok', 'is valid; none was issued now'],
    [
      'was issued',
      { ...NONE, tried: { kind: 'issued', id: 'abc', ms: 12.4 } },
      'ok',
      'issued in 12 ms',
    ],
    [
      'issuance failed',
      failed('SERVICE_UNREACHABLE'),
      'fail',
      'SERVICE_UNREACHABLE: No connection',
    ],
    ['of another process', { ...NONE, tried: { kind: 'left' } }, 'warn', 'another process'],
    ['is refused to the fleet', refused('INVALID_ACCESS_KEY'), 'fail', 'INVALID_ACCESS_KEY'],
    ['dies early', { ...LIVES, status: { ...LIVES.status, issuances: 201 } }, 'warn', '201 tokens'],
    [
      'within its budget',
      { ...LIVES, status: { ...LIVES.status, issuances: 200 } },
      'ok',
      'is valid',
    ],
    ['is none, and none was asked for', NONE, 'skip', 'was not asked to issue one'],
  ] as const)('%s', (_, snapshot, level, words) => {
    const [token] = judgeToken(snapshot);
    expect(token).toMatchObject({
      check: 'service.token',
      level,
      says: expect.stringContaining(words) as string,
    });
    expect(token?.remedy !== undefined).toBe(level === 'warn' || level === 'fail');
  });

  it('that was refused: the remedy of the code, once', () => {
    const [token] = judgeToken(failed('SERVICE_UNREACHABLE'));
    const { remedy } = ERROR_CODES.SERVICE_UNREACHABLE;
    expect(token?.remedy).toBe(remedy);
    expect(token?.says).not.toContain(remedy);
  });
});

describe('the address that the service sees', () => {
  it.each([
    ['not shown', LIVES, 'skip', 'not shown'],
    [
      'refused and shown',
      { ...failed('IP_NOT_ALLOWED'), callerAddress: '203.0.113.7' },
      'fail',
      '203.0.113.7',
    ],
    ['refused and not shown', failed('IP_NOT_ALLOWED'), 'fail', 'does not report which'],
    ['refused to the fleet', refused('IP_NOT_ALLOWED'), 'fail', 'does not report which'],
    ['another failure', failed('SERVICE_UNREACHABLE'), 'skip', 'not shown'],
  ] as const)('%s', (_, snapshot, level, words) => {
    const [, address] = judgeToken(snapshot);
    expect(address).toMatchObject({
      check: 'service.address',
      level,
      says: expect.stringContaining(words) as string,
    });
  });
});
