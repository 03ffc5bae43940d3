import { describe, expect, it } from 'vitest';
import { OPS_ROUTES } from '../../../src/ops/web/http/route-table.ts';
import type { Route } from '../../../src/ops/web/http/route.ts';
import { route } from '../../../src/ops/web/http/route.ts';
import { testRedis } from '../../support/redis.ts';
import { pathOf, startOps, type OpsBench } from './support/ops-bench.ts';

const redis = testRedis();

/** Everything that lets people and programs in without knowing them. */
const OPEN = [
  'GET /livez',
  'GET /readyz',
  'GET /assets/:stamp/:name',
  'GET /sign-in',
  'POST /sign-in',
];

/** The board's own routes: what it would change, and some of what it shows. */
const BOARD = [
  'GET /queues',
  'GET /queues/',
  'GET /queues/queue/send',
  'GET /queues/api/queues',
  'GET /queues/api/redis/stats',
  'GET /queues/static/images/favicon.ico',
] as const;
const BOARD_CHANGES = [
  'PUT /queues/api/queues/pause',
  'PUT /queues/api/queues/resume',
  'PUT /queues/api/queues/send/pause',
  'PUT /queues/api/queues/send/empty',
  'PUT /queues/api/queues/send/obliterate',
  'PUT /queues/api/queues/send/retry/failed',
  'PUT /queues/api/queues/send/clean/failed',
  'PUT /queues/api/queues/send/some-id/retry',
  'PUT /queues/api/queues/send/some-id/clean',
  'PATCH /queues/api/queues/send/some-id/update-data',
  'POST /queues/api/queues/send/add',
] as const;

/** What a viewer is not allowed to do. */
const CHANGING: ReadonlySet<string> = new Set(['operator', 'sender', 'sender-or-operator']);

const name = ({ method, path }: Route) => `${method} ${path}`;
const closed = OPS_ROUTES.filter(({ needs }) => needs !== 'open');
const changes = OPS_ROUTES.filter(({ method }) => method !== 'GET');

function call(bench: OpsBench, line: string, headers: Readonly<Record<string, string>> = {}) {
  const [method = '', path = ''] = line.split(' ');
  return bench.ask(pathOf({ path }), {
    method,
    headers,
    ...(method === 'GET' ? {} : { body: {} }),
  });
}

/** Keys that exist, but for the one in which a session is used. */
async function written({ context: { keys } }: OpsBench): Promise<readonly string[]> {
  return (await redis.keys(keys.bullPrefix)).filter((key) => key !== keys.sessions);
}

it('these routes are open, change without a role for it, or only read by a POST, and no other', () => {
  expect(OPS_ROUTES.filter(({ needs }) => needs === 'open').map(name)).toEqual(OPEN);
  const others = changes.filter(({ needs, reads }) => !CHANGING.has(needs) && reads !== true);
  expect(others.map(name)).toEqual(['POST /sign-in', 'POST /sign-out']);
  const reading = OPS_ROUTES.filter(({ reads }) => reads === true);
  expect(reading.map(name)).toEqual([
    'POST /find',
    'POST /api/v1/find',
    'POST /api/v1/suppress/check',
    'POST /api/v1/failures/preview',
  ]);
});

it('a route without a role is not registered', async () => {
  const forgetful: Route = {
    ...route({
      method: 'GET',
      path: '/forgotten',
      needs: 'viewer',
      kind: 'api',
      summary: '',
      handle: () => ({}),
    }),
    // What a slip of a future author would be.
    needs: undefined as unknown as 'viewer',
  };
  await expect(startOps(redis.url, redis.freshPrefix(), {}, [forgetful])).rejects.toThrow(
    'GET /forgotten does not define which role it needs',
  );
});

describe('without credentials', () => {
  it('every route but the open ones answers 401, and tells nothing else', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const lines = [...closed.map(name), ...BOARD, ...BOARD_CHANGES, 'GET /no-such-path'];
    for (const line of lines) {
      const reply = await call(bench, line);
      expect([line, reply.status]).toEqual([line, 401]);
      expect(reply.json).toMatchObject({ code: 'NOT_SIGNED_IN', status: 401 });
    }
    for (const headers of [
      { authorization: 'Bearer nq_made-up' },
      { authorization: 'Basic b3R0bzpjb3JyZWN0' },
      { cookie: 'notices=made.up' },
      { cookie: 'notices=' },
      { 'x-user': 'otto', 'x-role': 'operator' },
    ]) {
      for (const line of lines) {
        expect([line, headers, (await call(bench, line, headers)).status]).toEqual([
          line,
          headers,
          401,
        ]);
      }
    }
  });
});

describe('a role that is not enough', () => {
  it('a viewer changes nothing', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const { headers } = await bench.viewer();
    const needing = OPS_ROUTES.filter(({ needs }) => CHANGING.has(needs));
    expect(needing.length).toBeGreaterThan(7);
    const tried = [...needing.map(name), ...BOARD_CHANGES];
    for (const who of [headers, bench.key('viewer').headers]) {
      for (const line of tried) {
        const reply = await call(bench, line, who);
        expect([line, reply.status, reply.json['code']]).toEqual([line, 403, 'NOT_PERMITTED']);
      }
    }
    // On the board nobody does, an operator neither.
    const { headers: operator } = await bench.operator();
    for (const line of BOARD_CHANGES) {
      expect([line, (await call(bench, line, operator)).status]).toEqual([line, 403]);
    }
    expect(await written(bench)).toEqual([]);
  });

  it("a sender's key opens nothing but notices, their cancelling, lists, what became of them, and opt-outs", async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const { headers } = bench.key('sender');
    const own = new Set(['sender', 'any', 'sender-or-operator']);
    const others = closed.filter(({ needs }) => !own.has(needs));
    for (const line of [...others.map(name), ...BOARD]) {
      expect([line, (await call(bench, line, headers)).status]).toEqual([line, 403]);
    }
    expect(closed.filter(({ needs }) => own.has(needs)).map(name)).toEqual([
      'GET /api/v1/notices/:id',
      'GET /api/v1/notices',
      'POST /api/v1/notices/:id/cancel',
      'POST /api/v1/notices/cancel',
      'POST /api/v1/suppress/add',
      'GET /api/v1/batches/:id',
      'POST /api/v1/notices',
      'POST /api/v1/batches',
    ]);
  });
});

describe('from another site', () => {
  const elsewhere = [
    { origin: 'https://evil.example.test' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site', origin: 'http://127.0.0.1' },
  ];

  it('changes nothing, although an operator is signed in', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const { headers } = await bench.operator();
    const lines = changes.filter(({ needs }) => needs !== 'sender').map(name);
    expect(lines.length).toBeGreaterThan(7);
    for (const line of lines) {
      for (const more of elsewhere) {
        const reply = await call(bench, line, { ...headers, ...more });
        expect([line, more, reply.status]).toEqual([line, more, 403]);
        expect(reply.json).toMatchObject({ code: 'CROSS_SITE' });
      }
    }
    expect(await written(bench)).toEqual([]);
  });

  it('without the token of the session changes nothing either', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const [otto, vera] = [await bench.operator(), await bench.viewer()];
    const { cookie = '' } = otto.headers;
    const strange = vera.headers['x-csrf-token'] ?? '';
    const lines = changes
      .filter(({ needs }) => needs === 'operator' || needs === 'viewer')
      .map(name);
    for (const line of lines) {
      for (const headers of [{ cookie }, { cookie, 'x-csrf-token': strange }]) {
        const reply = await call(bench, line, headers);
        expect([line, reply.status, reply.json['code']]).toEqual([line, 403, 'CROSS_SITE']);
      }
      const [method = '', path = ''] = line.split(' ');
      const form = `_csrf=${strange}&why=because`;
      const reply = await bench.ask(pathOf({ path }), { method, headers: { cookie }, body: form });
      expect([line, reply.status]).toEqual([line, 403]);
    }
    expect(await written(bench)).toEqual([]);
  });
});

it('every answer carries the headers that keep others out', async () => {
  const bench = await startOps(redis.url, redis.freshPrefix());
  const { headers } = await bench.viewer();
  for (const line of [
    'GET /',
    'GET /sign-in',
    'GET /livez',
    'GET /api/v1/hold',
    'GET /no-such-path',
  ]) {
    const reply = await call(bench, line, headers);
    expect(reply.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
      'x-robots-tag': 'noindex, nofollow',
    });
    expect(reply.headers['strict-transport-security']).toBeUndefined();
    const policy = String(reply.headers['content-security-policy']);
    expect(policy).toContain("default-src 'self'");
    for (const name of ['frame-ancestors', 'base-uri', 'object-src']) {
      expect(policy).toContain(`${name} 'none'`);
    }
    expect(policy).not.toContain('unsafe');
  }
});

it('pages hold no script or style of their own', async () => {
  const bench = await startOps(redis.url, redis.freshPrefix());
  const { headers } = await bench.operator();
  const pages = OPS_ROUTES.filter((one) => {
    const { kind, method, path } = one;
    return kind === 'page' && method === 'GET' && !path.includes(':');
  });
  expect(pages.length).toBeGreaterThan(4);
  const none = await call(bench, 'GET /batches/none', { ...headers, accept: 'text/html' });
  expect([none.status, none.text.includes('<a href="/">To the overview</a>')]).toEqual([404, true]);
  for (const one of pages) {
    const { text, status } = await call(bench, name(one), { ...headers, accept: 'text/html' });
    expect([one.path, status]).toEqual([one.path, 200]);
    expect(text).toMatch(/^<!doctype html>/);
    expect(text).not.toMatch(/<script(?![^>]* src="\/)|<style|\sstyle=|\son\w+=|https?:\/\//);
  }
});
