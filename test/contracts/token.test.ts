import { describe, expect, it } from 'vitest';
import { concernsToken, mayConcernToken } from '../../src/contracts/token.ts';

describe('a refusal and the token', () => {
  it.each([
    { status: 401, code: undefined, states: false, may: true },
    { status: 403, code: undefined, states: false, may: false },
    { status: 401, code: 'INVALID_ACCESS_KEY', states: true, may: true },
    { status: 403, code: 'TOKEN_EXPIRED', states: true, may: true },
    { status: 401, code: 'INVALID_BEARER_TOKEN', states: true, may: true },
    { status: 401, code: 'INVALID_ACCESS_KEY_FORMAT', states: false, may: false },
    { status: 401, code: 'SENDER_NOT_ALLOWED', states: false, may: false },
    { status: 403, code: 'IP_NOT_ALLOWED', states: false, may: false },
  ] as const)(
    '$status $code: states $states, may be of it $may',
    ({ status, code, states, may }) => {
      expect(concernsToken(code)).toBe(states);
      expect(mayConcernToken({ status, code })).toBe(may);
    },
  );
});
