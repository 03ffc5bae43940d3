import { describe, expect, it } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import { expectDocumented, startOps, type Caller } from './support/ops-bench.ts';

const redis = testRedis();
const PATH = '/api/v1/rate-limit';

async function bench(env: Readonly<Record<string, string>> = {}) {
  const prefix = redis.freshPrefix();
  const server = await startOps(redis.url, prefix, env);
  return { prefix, server, viewer: await server.viewer(), operator: await server.operator() };
}

async function show(caller: Caller) {
  const reply = await caller.get(PATH);
  expectDocumented('GET', PATH, reply);
  return reply.json;
}

async function set(caller: Caller, body: object) {
  const reply = await caller.post(PATH, body);
  expectDocumented('POST', PATH, reply);
  return reply;
}

describe('the rate limit', () => {
  it('is set by an operator, and the audit stream records who and why', async () => {
    const { server, viewer, operator } = await bench();
    expect(await show(viewer)).toEqual({ rateLimit: null });
    const first = await set(operator, { rateLimit: 50, why: ' campaign at noon ' });
    const manual = { rateLimit: { configured: 0, manual: 50, now: 50 } };
    expect([first.status, first.json]).toEqual([200, manual]);
    expect(await show(viewer)).toEqual(manual);
    const off = await set(operator, { rateLimit: 'off', why: 'the night' });
    expect(off.json).toEqual({ rateLimit: { configured: 0, manual: 0 } });
    const back = await set(server.key('operator'), { rateLimit: 'default', why: 'x' });
    expect(back.json).toEqual({ rateLimit: null });
    const { json } = await viewer.get('/api/v1/audit');
    const { entries } = json as { entries: object[] };
    const common = { at: 0, what: 'rate-limit', target: 'queue' };
    expect(entries.map((entry) => ({ ...entry, at: 0 }))).toEqual([
      { ...common, who: 'key:robot', as: 'default', why: 'x' },
      { ...common, who: 'otto', as: 'off', why: 'the night' },
      { ...common, who: 'otto', as: '50', why: 'campaign at noon' },
    ]);
  });

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
    { rateLimit: 50, why: ' ' },
    { rateLimit: 50, why: 'x'.repeat(101) },
    { rateLimit: 100_001, why: 'x' },
    { rateLimit: 1.5, why: 'x' },
    { rateLimit: '50', why: 'x' },
    { rateLimit: 'fast', why: 'x' },
    { rateLimit: null, why: 'x' },
  ])('%j sets nothing', async (body) => {
    const { prefix, operator } = await bench();
    const { status, json } = await set(operator, body);
    expect([status, json['code']]).toEqual([400, 'REQUEST_INVALID']);
    expect(await redis.keys(prefix)).toEqual([]);
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
