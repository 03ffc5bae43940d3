import { describe, expect, it } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import { startOps } from './support/ops-bench.ts';

const redis = testRedis();
const NUMBER = '01000000042';

describe('a path that no router can read', () => {
  it.each([
    [400, `/%zz${NUMBER}`],
    [414, `/batches/${'x'.repeat(2_001)}${NUMBER}`],
  ])(
    'is answered %i as a problem that does not repeat it, with the headers of every answer',
    async (status, path) => {
      const bench = await startOps(redis.url, redis.freshPrefix());
      const reply = await bench.ask(path, { headers: { accept: 'text/html' } });
      expect(reply.status).toBe(status);
      expect(reply.headers).toMatchObject({
        'content-type': 'application/problem+json; charset=utf-8',
        'cache-control': 'no-store',
        'content-security-policy':
          "default-src 'self'; form-action 'self'; frame-ancestors 'none'; object-src 'none'; base-uri 'none'",
        'x-content-type-options': 'nosniff',
      });
      expect(reply.json).toMatchObject({ code: 'REQUEST_INVALID', status });
      expect(reply.text).not.toContain(NUMBER);
    },
  );
});

it('a reason that is none is refused, and so is a field that is not known', async () => {
  const operator = await (await startOps(redis.url, redis.freshPrefix())).operator();
  for (const body of [
    { why: '   ' },
    { why: 7 },
    { why: 'x'.repeat(101) },
    { why: 'x', more: 1 },
  ]) {
    expect([body, (await operator.post('/api/v1/hold/place', body)).status]).toEqual([body, 400]);
  }
});

describe('a reason with a phone number', () => {
  const why = `asked by 010-0000-0042, CHG0012345`;

  it('is in the audit stream as it was typed for operators, and without digits for viewers', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const [viewer, operator] = [await bench.viewer(), await bench.operator()];
    await operator.post('/api/v1/hold/place', { why });
    for (const path of ['/api/v1/audit', '/audit']) {
      expect((await operator.get(path)).text).toContain(why);
      const shown = (await viewer.get(path)).text;
      expect(shown).toContain('asked by [number]');
      expect(shown).not.toMatch(/0000-0042|0012345/);
    }
  });

  it('is shown without it as that of a hold', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const [viewer, operator] = [await bench.viewer(), await bench.operator()];
    const placed = await operator.post('/api/v1/hold/place', { why });
    expect(placed.json).toMatchObject({ hold: { code: 'asked by [number], CHG[number]' } });
    for (const path of ['/api/v1/hold', '/api/v1/status', '/']) {
      expect((await viewer.get(path)).text).not.toMatch(/0000-0042/);
    }
  });
});
