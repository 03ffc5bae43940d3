import { expect, it } from 'vitest';
import type { ErrorCode } from '../../src/contracts/errors.ts';
import { codeOf, holdOf } from '../../src/token/token-decision.ts';

it.each<[ErrorCode, string]>([
  ['INVALID_ACCESS_KEY', 'credentials'],
  ['ACCESS_KEY_NOT_APPROVED', 'credentials'],
  ['IP_NOT_ALLOWED', 'credentials'],
  ['SERVICE_REFUSED', 'credentials'],
  ['TOKEN_CONTESTED', 'token-contested'],
  ['TOKEN_INVALID', 'token-unavailable'],
  ['TOKEN_UNAVAILABLE', 'token-unavailable'],
  ['SERVICE_UNREACHABLE', 'token-unavailable'],
])('an issuance that failed with %s is the hold %s', (code, hold) => {
  expect(holdOf(code)).toBe(hold);
});

it('a stored code that is unknown counts as an endpoint that failed', () => {
  expect(codeOf('toString')).toBe('TOKEN_UNAVAILABLE');
  expect(codeOf('IP_NOT_ALLOWED')).toBe('IP_NOT_ALLOWED');
});
