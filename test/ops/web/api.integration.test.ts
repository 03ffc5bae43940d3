import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { allFailed } from '../../../src/batch/ledger/settlement.ts';
import { beat } from '../../../src/fleet/heartbeat.ts';
import { noSuchBatch, requireBatch } from '../../../src/ops/batch-snapshot.ts';
import { listBatches } from '../../../src/ops/operations/batches.ts';
import { OPERATIONS } from '../../../src/ops/operations/operations.ts';
import { operationRoutes } from '../../../src/ops/web/http/operation-routes.ts';
import type { Route } from '../../../src/ops/web/http/route.ts';
import { OPS_ROUTES } from '../../../src/ops/web/http/route-table.ts';
import { buildBatch, contacts, part } from '../../batch/support/built-batch.ts';
import { testRedis } from '../../support/redis.ts';
import {
  expectDocumented,
  routeOf,
  startOps,
  type Caller,
  type Reply,
} from './support/ops-bench.ts';

const redis = testRedis();

/** Routes that answered well here, by path: the last test wants all of them. */
const answered = new Set<string>();

/** A caller whose every answer is held to what its route says. */
function documented(caller: Caller): Pick<Caller, 'get' | 'post'> {
  const check = (method: string, path: string, reply: Reply) => {
    expectDocumented(method, path, reply);
    if (reply.status < 300) answered.add(`${method} ${routeOf(method, path)?.path}`);
    return reply;
  };
  return {
    get: async (path, headers) => check('GET', path, await caller.get(path, headers)),
    post: async (path, body, headers) =>
      check('POST', path, await caller.post(path, body, headers)),
  };
}

async function bench() {
  const prefix = redis.freshPrefix();
  const server = await startOps(redis.url, prefix);
  return {
    prefix,
    server,
    viewer: documented(await server.viewer()),
    operator: documented(await server.operator()),
  };
}

/** 30 contacts: 7 accepted, 2 rejected, 11 unknown, 10 pending. */
async function failedBatch(prefix: string, id = 'b') {
  const lists = [contacts(10), contacts(10, 10), contacts(10, 20)];
  const built = await buildBatch(redis.client, prefix, id, lists, {
    plan: { frame: '{"templateCode":"T","senderKey":"0299998888"}' },
  });
  await built.settle(0, allFailed(10, 'unknown', 'HTTP_503', 'HTTP 503'));
  await built.settle(1, {
    accepted: 7,
    failed: [
      await part('rejected', 'BAD_NUMBER', contacts(2, 10)),
      await part('unknown', 'ECONNRESET', contacts(1, 12)),
    ],
  });
  return built;
}

/** Some of the numbers that the batches above are made of. */
const NUMBERS = /0100000\d{4}|0299998888/;

describe('status', () => {
  it('tells what waits, who works and what holds', async () => {
    const { server, viewer } = await bench();
    const { keys, redis: client } = server.context;
    await server.context.notices.send({ templateCode: 'T', contacts: contacts(1) });
    const worker = { id: 'w', host: 'h', pid: 1, version: '1', concurrency: 4, active: 1 };
    await beat(client, keys, { ...worker, startedAt: 5, loopDelayMs: 2, pair: 'pair' }, 60_000);
    const { json, text } = await viewer.get('/api/v1/status');
    expect(json).toMatchObject({ jobs: { waiting: 1 }, workers: [{ id: 'w', active: 1 }] });
    expect(json).not.toHaveProperty('hold');
    expect(text).not.toMatch(NUMBERS);
  });

  it('tells who calls', async () => {
    const { server, operator } = await bench();
    expect((await operator.get('/api/v1/session')).json).toMatchObject({ name: 'otto' });
    const byKey = await server.key('viewer').get('/api/v1/session');
    expect(byKey.json).toEqual({ name: 'key:watch', role: 'viewer', by: 'key', csrf: '' });
    expectDocumented('GET', '/api/v1/session', byKey);
  });

  it('describes itself', async () => {
    const { viewer } = await bench();
    const { json } = await viewer.get('/api/v1/openapi.json');
    expect(json).toEqual(JSON.parse(readFileSync('docs/openapi.json', 'utf8')));
  });
});

describe('the hold', () => {
  it('is placed and lifted by an operator, and both stand in the audit stream', async () => {
    const { server, viewer, operator } = await bench();
    expect((await viewer.get('/api/v1/hold')).json).toEqual({ hold: null, templates: [] });
    const placed = await operator.post('/api/v1/hold/place', { why: ' new template ' });
    expect(placed.json).toMatchObject({ hold: { kind: 'manual', code: 'new template' } });
    expect((await viewer.get('/api/v1/status')).json).toMatchObject({ hold: { kind: 'manual' } });
    const other = await operator.post('/api/v1/hold/lift', { kind: 'credit' });
    expectDocumented('POST', '/api/v1/hold/lift', other);
    expect([other.status, other.json]).toMatchObject([409, { code: 'NOT_POSSIBLE' }]);
    const lifted = await operator.post('/api/v1/hold/lift', { why: 'reviewed', kind: 'manual' });
    expect(lifted.json).toEqual({ lifted: 'manual' });
    expect((await operator.post('/api/v1/hold/lift')).json).toEqual({ lifted: null });
    await server.key('operator').post('/api/v1/hold/place', { why: 'by a robot' });
    const { json } = await viewer.get('/api/v1/audit?limit=2');
    const { entries } = json as { entries: object[] };
    expect(entries.map((entry) => ({ ...entry, at: 0 }))).toEqual([
      { at: 0, who: 'key:robot', what: 'hold', target: 'queue', as: 'placed', why: 'by a robot' },
      { at: 0, who: 'otto', what: 'hold', target: 'queue', as: 'lifted manual', why: 'reviewed' },
    ]);
  });

  it('wants a reason', async () => {
    const { operator } = await bench();
    for (const body of [{}, { why: '' }, { why: '   ' }, { why: 7 }, { why: 'x'.repeat(101) }]) {
      expect((await operator.post('/api/v1/hold/place', body)).status).toBe(400);
    }
    const { json } = await operator.post('/api/v1/hold/place', { why: '', reason: 'x' });
    expect(json).toMatchObject({
      code: 'REQUEST_INVALID',
      issues: [{ field: 'why' }, { field: 'reason', problem: 'unknown option' }],
    });
  });
});

describe('batches', () => {
  it('are listed page by page, the newest first', async () => {
    const { prefix, server, viewer } = await bench();
    for (const id of ['one', 'two', 'three']) {
      await buildBatch(redis.client, prefix, id, [contacts(1)]);
    }
    const first = await viewer.get('/api/v1/batches?limit=2');
    expect(first.json).toMatchObject({ total: 3, next: 2 });
    const second = await viewer.get('/api/v1/batches?limit=2&offset=2');
    expect(second.json).toMatchObject({ total: 3, next: null });
    const ids = [first, second].flatMap(
      ({ json }) => (json as { batches: { id: string }[] }).batches,
    );
    expect(ids.map(({ id }) => id).sort()).toEqual(['one', 'three', 'two']);
    const { context } = server;
    expect(await listBatches(context, {}, { limit: 5, offset: 3 }, 0)).toEqual({
      batches: [],
      total: 3,
      next: null,
    });
    expect(await requireBatch(context, 'four').catch((error: unknown) => error)).toEqual(
      noSuchBatch('four'),
    );
  });

  it('one tells where it stands and why it stands still', async () => {
    const { prefix, viewer } = await bench();
    await failedBatch(prefix);
    const { json, text } = await viewer.get('/api/v1/batches/b');
    expect(json).toMatchObject({
      batch: {
        phase: 'sending',
        counts: { total: 30, pending: 10, accepted: 7, rejected: 2, unknown: 11 },
        finishedAt: null,
      },
    });
    expect(json['standstill']).toContain('no worker is running');
    expect(text).not.toMatch(NUMBERS);
  });

  it('are paused, resumed and cancelled by an operator, which stands in the audit stream', async () => {
    const { prefix, viewer, operator, server } = await bench();
    await failedBatch(prefix);
    const paused = await operator.post('/api/v1/batches/b/pause', { why: 'a mistake in it' });
    expect(paused.json).toEqual({ batch: 'b', phase: 'paused' });
    expect((await operator.post('/api/v1/batches/b/resume')).json).toMatchObject({
      phase: 'sending',
    });
    expect((await operator.post('/api/v1/batches/b/cancel')).json).toMatchObject({
      phase: 'cancelled',
    });
    const again = await operator.post('/api/v1/batches/b/pause');
    expect(again.json).toMatchObject({ status: 409, code: 'NOT_POSSIBLE' });
    expect(again.json['detail']).toContain('Batch b was cancelled, which is final;');
    const { entries } = (await viewer.get('/api/v1/audit')).json as { entries: { as: string }[] };
    expect(entries.map(({ as }) => as)).toEqual(['cancelled', 'resumed', 'paused']);
    expect(entries.at(-1)).toMatchObject({
      who: 'otto',
      target: 'batch b',
      why: 'a mistake in it',
    });
    expect((await server.context.ledger.read('b'))?.phase).toBe('cancelled');
  });

  it('with a limit or a name that cannot be are refused', async () => {
    const otto = await (await bench()).server.operator();
    expect((await otto.get('/api/v1/batches/gone/failures.csv')).status).toBe(404);
    expect((await otto.get('/api/v1/batches/a:b')).status).toBe(400);
    expect((await otto.get('/api/v1/batches?limit=0')).json).toMatchObject({
      issues: [{ field: 'limit', problem: 'expected a whole number from 1 to 200' }],
    });
  });
});

describe('failures', () => {
  it('are grouped, with a masked example of each', async () => {
    const { prefix, viewer } = await bench();
    await failedBatch(prefix);
    const { json, text } = await viewer.get('/api/v1/batches/b/failures');
    expect(json).toMatchObject({
      groups: [
        { state: 'unknown', code: 'HTTP_503', contacts: 10, example: { contact: '010******00' } },
        { state: 'rejected', code: 'BAD_NUMBER', contacts: 2, example: { contact: '010******10' } },
        { state: 'unknown', code: 'ECONNRESET', contacts: 1 },
      ],
    });
    expect(text).not.toMatch(NUMBERS);
    expect(text).not.toContain('value 1');
    const some = await viewer.get('/api/v1/batches/b/failures?state=rejected&code=BAD_NUMBER');
    expect(some.json).toMatchObject({ groups: [{ code: 'BAD_NUMBER' }] });
  });

  it('are downloaded by an operator as a list, which stands in the audit stream', async () => {
    const { prefix, viewer, operator } = await bench();
    await failedBatch(prefix);
    const reply = await operator.get('/api/v1/batches/b/failures.csv?state=rejected');
    expect(reply.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="b-failures.csv"',
      'cache-control': 'no-store',
    });
    const lines = reply.text.trim().split(/\r?\n/);
    expect(lines).toHaveLength(3);
    expect(lines[1]).toMatch(/^"01000000010","value 10",.*"rejected","BAD_NUMBER",/);
    expect((await viewer.get('/api/v1/audit')).json).toMatchObject({
      entries: [{ who: 'otto', what: 'download', target: 'batch b', as: 'rejected' }],
    });
  });

  it('are sent again after a preview', async () => {
    const { prefix, viewer, operator, server } = await bench();
    await failedBatch(prefix);
    const preview = await viewer.get('/api/v1/batches/b/redrive?state=unknown');
    expect(preview.json).toMatchObject({ possible: true, reason: null, contacts: 11 });
    const { at } = preview.json as { at: number };
    const body = { state: 'rejected', before: at, why: 'numbers were mended' };
    const early = await operator.post('/api/v1/batches/b/redrive', { ...body, before: 1 });
    expect(early.json).toMatchObject({ redriven: 0, left: 0 });
    const done = await operator.post('/api/v1/batches/b/redrive', body);
    expect(done.json).toEqual({ batch: 'b', redriven: 2, chunks: 1, left: 0, gone: 0 });
    expect((await server.context.ledger.read('b'))?.counts).toMatchObject({
      pending: 12,
      rejected: 0,
    });
    expect((await viewer.get('/api/v1/audit')).json).toMatchObject({
      entries: [{ what: 'redrive', as: 'rejected', contacts: 2, why: 'numbers were mended' }],
    });
    await operator.post('/api/v1/batches/b/pause');
    expect((await viewer.get('/api/v1/batches/b/redrive')).json).toMatchObject({ possible: false });
    const refused = await operator.post('/api/v1/batches/b/redrive', body);
    expect(refused.json).toMatchObject({ status: 409, code: 'NOT_POSSIBLE' });
  });
});

describe('a form', () => {
  it('does what the API does and leads back', async () => {
    const { prefix, server } = await bench();
    await failedBatch(prefix);
    const { cookie = '', 'x-csrf-token': token = '' } = (await server.operator()).headers;
    const send = (fields: Record<string, string>) =>
      server.ask('/api/v1/batches/b/redrive', {
        method: 'POST',
        headers: { cookie, accept: 'text/html,application/xhtml+xml,*/*', origin: server.url },
        body: new URLSearchParams({ _csrf: token, _next: '/batches/b', ...fields }).toString(),
      });
    const wrong = await send({ state: 'rejected', why: '' });
    expect(wrong.status).toBe(400);
    expect(wrong.headers['content-type']).toContain('text/html');
    expect(wrong.text).toContain('expected a reason');
    const done = await send({ state: 'rejected', limit: '5', why: 'mended' });
    expect(done).toMatchObject({ status: 303, headers: { location: '/batches/b' } });
    expect((await server.context.ledger.read('b'))?.counts).toMatchObject({ rejected: 0 });
  });
});

it('every route of the API was answered here, is an operation, or has a test file of its own', () => {
  const names = (routes: readonly Route[]) => routes.map(({ method, path }) => `${method} ${path}`);
  const elsewhere = [
    // Operations have their matrix.
    ...names(OPERATIONS.flatMap(operationRoutes)),
    'POST /api/v1/notices',
    'GET /api/v1/unknown.csv',
    'GET /api/v1/traffic',
    'GET /metrics',
  ];
  const all = names(OPS_ROUTES.filter(({ kind }) => kind === 'api'));
  expect(new Set([...answered, ...elsewhere])).toEqual(new Set(all));
});
