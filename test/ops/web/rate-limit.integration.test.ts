import { describe, expect, it } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import { expectDocumented, startOps, type Caller } from './support/ops-bench.ts';

const redis = testRedis();
const PATH = '/api/v1/rate-limit';

async function bench(env: Readonly<Record<string, string>> = {}) {
  const server = await startOps(redis.url, redis.freshPrefix(), env);
  return { server, viewer: await server.viewer() };
}

async function show(caller: Caller) {
  const reply = await caller.get(PATH);
  expectDocumented('GET', PATH, reply);
  return reply.json;
}

describe('the rate limit', () => {
  it('shows a decrease, and the configured limit where no worker has reported one', async () => {
    const { server, viewer } = await bench({ RATE_LIMIT: '40' });
    expect(await show(viewer)).toEqual({ rateLimit: { configured: 40, now: 40 } });
    const risesFrom = Date.now() + 3_600_000;
    await redis.client.hset(server.context.keys.rateLimit, {
      fellAt: 1_000.158,
      fellFrom: '40.000',
      fellTo: '20.000',
      risesFrom,
      recoveryMs: 120_000,
    });
    expect(await show(viewer)).toEqual({
      rateLimit: {
        configured: 40,
        now: 20,
        fall: { at: 1_000, from: 40, to: 20, risesFrom, recoveryMs: 120_000 },
        lowUntil: risesFrom + 60_000,
      },
    });
  });

  it.each([
    ['7', 7],
    ['off', 0],
    ['default', undefined],
  ])('%s in the form of the page is taken', async (rateLimit, stored) => {
    const { server } = await bench();
    const { headers } = await server.operator();
    const { cookie = '', 'x-csrf-token': csrf = '' } = headers;
    const body = String(new URLSearchParams({ _csrf: csrf, _next: '/', rateLimit, why: 'x' }));
    const sent = await server.ask(PATH, { method: 'POST', headers: { cookie }, body });
    expect(sent).toMatchObject({ status: 303, headers: { location: '/' } });
    const kept = await redis.client.hget(server.context.keys.rateLimit, 'manual');
    expect(kept === null ? undefined : Number(kept)).toBe(stored);
  });
});
