import { describe, expect, it } from 'vitest';
import { allFailed } from '../../../src/batch/ledger/settlement.ts';
import { buildBatch, contacts, part } from '../../batch/support/built-batch.ts';
import { testRedis } from '../../support/redis.ts';
import { expectDocumented, startOps, type Caller, type Reply } from './support/ops-bench.ts';

const redis = testRedis();

/** A caller whose every answer is held to what its route says. */
function documented(caller: Caller): Pick<Caller, 'get' | 'post'> {
  const check = (method: string, path: string, reply: Reply) => {
    expectDocumented(method, path, reply);
    return reply;
  };
  return {
    get: async (path, headers) => check('GET', path, await caller.get(path, headers)),
    post: async (path, body, headers) =>
      check('POST', path, await caller.post(path, body, headers)),
  };
}

/** A server, and a batch of 30 contacts: 7 accepted, 2 rejected, 11 unknown, 10 pending. */
async function bench() {
  const prefix = redis.freshPrefix();
  const server = await startOps(redis.url, prefix);
  const lists = [contacts(10), contacts(10, 10), contacts(10, 20)];
  const built = await buildBatch(redis.client, prefix, 'b', lists, {
    plan: { frame: '{"templateCode":"T","senderKey":"0299998888"}' },
  });
  await built.settle(0, allFailed('unknown', 'HTTP_503', 'HTTP 503'));
  await built.settle(1, {
    accepted: 7,
    failed: [
      await part('rejected', 'BAD_NUMBER', contacts(2, 10)),
      await part('unknown', 'ECONNRESET', contacts(1, 12)),
    ],
  });
  const [viewer, operator] = [await server.viewer(), await server.operator()];
  const audit = async () => (await viewer.get('/api/v1/audit')).json['entries'] as object[];
  return {
    server,
    viewer: documented(viewer),
    operator: documented(operator),
    counts: async () => (await built.read()).counts,
    audit,
  };
}

/** Some of the numbers that the batch is made of. */
const NUMBERS = /0100000\d{4}|0299998888/;

describe('the API', () => {
  it('tells who calls, and what stands still', async () => {
    const { server, viewer, operator } = await bench();
    expect((await operator.get('/api/v1/session')).json).toMatchObject({ name: 'otto' });
    const byKey = await documented(server.key('viewer')).get('/api/v1/session');
    expect(byKey.json).toEqual({ name: 'key:watch', role: 'viewer', by: 'key', csrf: '' });
    const { json, text } = await viewer.get('/api/v1/batches/b');
    expect(json).toMatchObject({
      batch: { counts: { total: 30, pending: 10, accepted: 7, rejected: 2, unknown: 11 } },
      standstill: expect.stringContaining('no worker is running') as unknown,
    });
    expect(text).not.toMatch(NUMBERS);
    const metrics = await server.key('viewer').get('/metrics');
    expect(metrics.headers['content-type']).toMatch(/^text\/plain; version=/);
    expect(metrics.text).toContain('notices_redis_up 1');
  });

  it('places and lifts a hold, and no other kind than the one that was seen', async () => {
    const { viewer, operator, audit } = await bench();
    const placed = await operator.post('/api/v1/hold/place', { why: ' new template ' });
    expect(placed.json).toMatchObject({ hold: { kind: 'manual', code: 'new template' } });
    expect((await viewer.get('/api/v1/status')).json).toMatchObject({ hold: { kind: 'manual' } });
    const other = await operator.post('/api/v1/hold/lift', { kind: 'credit' });
    expect([other.status, other.json]).toMatchObject([409, { code: 'NOT_POSSIBLE' }]);
    const lifted = await operator.post('/api/v1/hold/lift', { why: 'reviewed', kind: 'manual' });
    expect(lifted.json).toEqual({ lifted: 'manual' });
    expect(await audit()).toMatchObject([
      { who: 'otto', what: 'hold', target: 'queue', as: 'lifted manual', why: 'reviewed' },
      { as: 'placed', why: 'new template' },
    ]);
    for (const why of ['', '   ', 7, 'x'.repeat(101)]) {
      expect((await operator.post('/api/v1/hold/place', { why })).status).toBe(400);
    }
    const { json } = await operator.post('/api/v1/hold/place', { why: '', reason: 'x' });
    const issues = [{ field: 'why' }, { field: 'reason', problem: 'unknown option' }];
    expect(json).toMatchObject({ code: 'REQUEST_INVALID', issues });
  });

  it('groups failures, and gives their numbers to operators only', async () => {
    const { viewer, operator, audit } = await bench();
    const { json, text } = await viewer.get('/api/v1/failures?batch=b');
    expect(json['groups']).toMatchObject([
      { state: 'unknown', code: 'HTTP_503', contacts: 10 },
      { state: 'rejected', code: 'BAD_NUMBER', contacts: 2 },
      { state: 'unknown', code: 'ECONNRESET', contacts: 1 },
    ]);
    expect(text).not.toMatch(NUMBERS);
    expect((await viewer.get('/api/v1/failures?batch=gone')).status).toBe(404);
    const reply = await operator.get('/api/v1/failures.csv?batch=b&state=rejected');
    expect(reply.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="b-failures.csv"',
      'cache-control': 'no-store',
    });
    const lines = reply.text.trim().split(/\r?\n/);
    expect(lines).toHaveLength(3);
    expect(lines[1]).toMatch(/^"01000000010","value 10",.*"rejected","BAD_NUMBER",/);
    const entry = { who: 'otto', what: 'download', target: 'batch b', as: 'rejected' };
    expect(await audit()).toMatchObject([entry]);
  });

  it('sends failed contacts again after a preview, and nothing that failed later', async () => {
    const { viewer, operator, counts, audit } = await bench();
    const path = '/api/v1/failures/decide';
    const ofBatch = { batch: 'b', state: 'rejected' };
    const preview = await viewer.post('/api/v1/failures/preview', ofBatch);
    expect(preview.json).toMatchObject({ contacts: 2 });
    const body = { as: 'resend', ...ofBatch, before: preview.json['at'], why: 'mended' };
    const early = await operator.post(path, { ...body, before: 1 });
    expect(early.json).toMatchObject({ done: 0, complete: true });
    const done = await operator.post(path, body);
    expect(done.json).toMatchObject({ done: 1, contacts: 2, gone: 0, refused: [] });
    expect(await counts()).toMatchObject({ pending: 12, rejected: 0 });
    const entry = { what: 'decide', target: 'batch b', as: 'resend rejected', contacts: 2 };
    expect(await audit()).toMatchObject([entry]);
    await operator.post('/api/v1/batches/b/pause');
    const paused = await operator.post(path, { ...body, state: 'unknown', before: undefined });
    expect(paused.json).toMatchObject({ done: 0, refused: [{ batch: 'b' }] });
  });

  it('does by a form what it does otherwise, and leads back', async () => {
    const { server, counts } = await bench();
    const { cookie = '', 'x-csrf-token': token = '' } = (await server.operator()).headers;
    const send = (fields: Record<string, string>) =>
      server.ask('/api/v1/failures/decide', {
        method: 'POST',
        headers: { cookie, accept: 'text/html,application/xhtml+xml,*/*', origin: server.url },
        body: new URLSearchParams({
          _csrf: token,
          _next: '/batches/b',
          as: 'resend',
          batch: 'b',
          ...fields,
        }).toString(),
      });
    const wrong = await send({ state: 'rejected', why: '' });
    expect(wrong.status).toBe(400);
    expect(wrong.headers['content-type']).toContain('text/html');
    expect(wrong.text).toContain('expected a reason');
    const done = await send({ state: 'rejected', limit: '5', why: 'mended' });
    expect(done).toMatchObject({ status: 303, headers: { location: '/batches/b' } });
    expect(await counts()).toMatchObject({ rejected: 0 });
  });
});
