import { describe, expect, it } from 'vitest';
import { classifyFailure } from '../../src/service/http/transport.ts';
import { parseRetryAfter, tokenLifetime } from '../../src/service/response/token-lifetime.ts';

const NOW = Date.UTC(2026, 10, 21, 8, 0, 0);
const NOW_HTTP = 'Sat, 21 Nov 2026 08:00:00 GMT';

describe('Retry-After', () => {
  it.each([
    ['seconds', '3', 3_000],
    ['blanks around', ' 7 ', 7_000],
    ['parts of a second', '0.5', 500],
    ['a thousand million seconds', '1000000000', 1e12],
    ['a date', 'Sat, 21 Nov 2026 08:00:30 GMT', 30_000],
    ['a date as asctime writes it', 'Sat Nov 21 08:00:30 2026', 30_000],
    ['a date that has passed', 'Sat, 21 Nov 2026 07:00:00 GMT', 0],
    ['negative', '-1', undefined],
    ['empty', '', undefined],
    ['a number too long', '1'.repeat(13), undefined],
    ['a date that is none', 'Sat, 99 Foo 2026 08:00:30 GMT', undefined],
    ['absent', undefined, undefined],
  ])('%s', (_name, value, expected) => {
    expect(parseRetryAfter(value, undefined, NOW)).toBe(expected);
  });

  it('measures a date on the clock of the service', () => {
    const wrongClock = NOW + 3_600_000;
    expect(parseRetryAfter('Sat, 21 Nov 2026 08:00:30 GMT', NOW_HTTP, wrongClock)).toBe(30_000);
  });
});

const jwt = (claims: object): string =>
  `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.sig`;
const HOUR = 3_600_000;
/** Where an answer has the end of its token. */
const at = (expiresAt: unknown) => ({ data: { expiresAt } });
const seconds = (ms: number): number => Math.floor(ms / 1_000);
const IN_TWO = jwt({ exp: seconds(NOW + 2 * HOUR) });

describe('the life of a token', () => {
  it.each<[string, object, string, number | undefined]>([
    ['is not shown', {}, 'opaque', undefined],
    ['data.expiresAt, ISO', at('2026-11-21T09:00:00Z'), 'opaque', HOUR],
    ['expires_at at the top, seconds', { expires_at: seconds(NOW + HOUR) }, 'opaque', HOUR],
    ['milliseconds', { data: { expires_at: NOW + HOUR } }, 'opaque', HOUR],
    ['no zone: not trusted', at('2026-11-21T09:00:00'), 'opaque', undefined],
    ['in the past: not trusted', at('2026-11-21T07:00:00Z'), 'opaque', undefined],
    ['a duration: not a time', at(86_400), 'opaque', undefined],
    ['the year 9999: not trusted', at('9999-01-01T00:00:00Z'), 'opaque', undefined],
    ['an impossible time', at('2026-02-31T25:00:00Z'), 'opaque', undefined],
    ['exp - iat, whatever our clock says', {}, jwt({ exp: 5_000, iat: 1_400 }), HOUR],
    ['exp alone', {}, jwt({ exp: seconds(NOW + HOUR) }), HOUR],
    ['a time that is now', at(NOW), 'opaque', undefined],
    ['exp in the past', {}, jwt({ exp: seconds(NOW - HOUR) }), undefined],
    ['exp before iat', {}, jwt({ exp: 1_400, iat: 5_000 }), undefined],
    ['the answer goes before the token', at(NOW + HOUR), IN_TWO, HOUR],
    ['an unusable answer leaves the token', at('soon'), IN_TWO, 2 * HOUR],
    ['claims that are a list', {}, `e30.${Buffer.from('[1]').toString('base64url')}.s`, undefined],
  ])('%s', (_name, json, token, expected) => {
    expect(tokenLifetime(json, token, undefined, NOW)).toBe(expected);
  });

  it('is measured on the clock of the service where the answer has a Date', () => {
    const wrongClock = NOW - 5 * HOUR;
    expect(tokenLifetime(at(NOW + HOUR), 'opaque', NOW_HTTP, wrongClock)).toBe(HOUR);
    expect(tokenLifetime({}, jwt({ exp: seconds(NOW + HOUR) }), NOW_HTTP, wrongClock)).toBe(HOUR);
  });
});

describe('classifyFailure', () => {
  const withCode = (code: string): Error => Object.assign(new Error('x'), { code });

  it.each([
    ['ECONNREFUSED', 'refused-connection'],
    ['ENOTFOUND', 'dns'],
    ['EPROTO', 'tls'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate'],
    ['UND_ERR_PRX_TLS', 'certificate'],
    ['UND_ERR_HEADERS_TIMEOUT', 'timeout'],
    ['ECONNRESET', 'reset'],
    ['HPE_INVALID_CONSTANT', 'protocol'],
    ['UND_ERR_DESTROYED', 'aborted'],
    ['SOMETHING_NEW', 'other'],
  ])('%s is %s', (code, failure) => {
    expect(classifyFailure(withCode(code))).toStrictEqual({ failure, failureCode: code });
  });

  it('looks into an error of several addresses', () => {
    const error = new AggregateError([withCode('ENETUNREACH')]);
    expect(classifyFailure(error)).toStrictEqual({
      failure: 'refused-connection',
      failureCode: 'ENETUNREACH',
    });
  });

  it.each([undefined, 'text', new Error('no code'), withCode('has 01098765432 in it')])(
    'takes anything: %s',
    (error) => {
      expect(classifyFailure(error)).toStrictEqual({ failure: 'other' });
    },
  );
});
