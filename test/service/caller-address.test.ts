import { describe, expect, it } from 'vitest';
import { callerAddress } from '../../src/service/response/read-issuance.ts';

describe('the address in an answer', () => {
  it.each([
    ['The address 203.0.113.7 is not in the allowlist.', '203.0.113.7'],
    ['203.0.113.7', '203.0.113.7'],
    ['ip=203.0.113.7:40112', '203.0.113.7'],
    ['IP:203.0.113.7.', '203.0.113.7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['from ::ffff:10.0.0.1', '::ffff:10.0.0.1'],
    ['203.0.113.7 and again 203.0.113.7', '203.0.113.7'],
    ['203.0.113.7 is not one of 198.51.100.1, 198.51.100.2', undefined],
    ['no address', undefined],
    ['version 1.2.3.4.5', undefined],
    ['999.1.1.1', undefined],
    ['2026-11-21T09:30:05.000Z', undefined],
    ['09:30:05', undefined],
    ['call 010-1234-5678', undefined],
  ])('%j: %s', (message, address) => {
    expect(callerAddress({ code: 'IP_NOT_ALLOWED', message })).toBe(address);
  });

  it('stands anywhere in it', () => {
    expect(callerAddress({ error: { details: [{ clientIp: '203.0.113.7' }] } })).toBe(
      '203.0.113.7',
    );
    expect(callerAddress(undefined)).toBeUndefined();
    expect(callerAddress(null)).toBeUndefined();
  });

  it('is not looked for in an answer that is nested 20,000 levels deep', () => {
    const deep: unknown = JSON.parse(
      `{"ip":"203.0.113.7","x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
    );
    expect(callerAddress(deep)).toBeUndefined();
  });

  it.each(['a:', ':', '1.', 'f', '0.0.0.', ':.'])(
    'takes no time for ever, repeated: %j',
    (piece) => {
      const message = `${piece.repeat(60_000 / piece.length)}g`;
      const begun = performance.now();
      callerAddress({ message });
      expect(performance.now() - begun).toBeLessThan(5_000);
    },
  );
});
