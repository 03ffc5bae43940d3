import { describe, expect, it } from 'vitest';
import { readAudit } from '../../../src/ops/audit.ts';
import { testRedis } from '../../support/redis.ts';
import { parkNotice } from '../support/parked-notice.ts';
import { expectDocumented, startOps } from './support/ops-bench.ts';

const redis = testRedis();
const PATH = '/api/v1/notices';
const NOTICE = { templateCode: 'ORDER', contacts: [{ contact: '01000000001' }] };
const HTML = { accept: 'text/html' };

async function bench(prefix = redis.freshPrefix()) {
  const server = await startOps(redis.url, prefix);
  const { notices } = server.context;
  return { server, notices, shop: server.key('sender'), viewer: await server.viewer() };
}

describe('the look-up of a notice over HTTP', () => {
  it('answers what the library does, to every role, by id and by key', async () => {
    const { server, notices, shop, viewer } = await bench();
    const options = { delay: 3_600_000, idempotencyKey: 'order/1 &?' };
    const { id } = await notices.send(NOTICE, options);
    const view: unknown = JSON.parse(JSON.stringify(await notices.get(id)));
    for (const caller of [shop, viewer, await server.operator(), server.key('viewer')]) {
      const reply = await caller.get(`${PATH}/${id}`);
      expectDocumented('GET', `${PATH}/${id}`, reply);
      expect([reply.status, reply.json]).toEqual([200, view]);
      // A sender finds its own keys only (key-scope.integration.test.ts).
      if (caller === shop) continue;
      const query = `?idempotencyKey=${encodeURIComponent('order/1 &?')}`;
      const byKey = await caller.get(`${PATH}${query}`);
      expectDocumented('GET', PATH, byKey);
      expect([byKey.status, byKey.json]).toEqual([200, view]);
    }
  });

  it('of what does not exist is not-kept, whatever its id', async () => {
    const { shop } = await bench();
    const counts = { contacts: 0, attempts: 0, possiblySent: 0 };
    for (const id of ['n-AAAAAAAAAAAAAAAA', 'wait', '../../x', '\0', '한국어', 'a b"<script>']) {
      const reply = await shop.get(`${PATH}/${encodeURIComponent(id)}`);
      expect([reply.status, reply.json]).toEqual([200, { id, state: 'not-kept', ...counts }]);
    }
    const long = await shop.get(`${PATH}/${'x'.repeat(201)}`);
    const issues = [{ field: 'id', problem: 'expected at most 200 characters' }];
    expect(long).toMatchObject({ status: 400, json: { code: 'REQUEST_INVALID', issues } });
  });
});

describe('cancelling over HTTP', () => {
  it('cancels by id and by key, for a sender and an operator, and records it', async () => {
    const { server, notices, shop } = await bench();
    const options = (idempotencyKey: string) => ({ delay: 3_600_000, idempotencyKey });
    const one = await notices.send(NOTICE, options('one'));
    const two = await notices.send(NOTICE, options('two'));
    const path = `${PATH}/${one.id}/cancel`;
    const reply = await shop.post(path, { why: 'the order is off', releaseKey: true });
    expectDocumented('POST', path, reply);
    expect([reply.status, reply.json]).toEqual([
      200,
      { id: one.id, cancelled: true, answer: 'cancelled', keyReleased: true },
    ]);
    expect((await notices.send(NOTICE, options('one'))).duplicate).toBe(false);
    const otto = await server.operator();
    const body = { idempotencyKey: 'two', why: 'asked for' };
    const byKey = await otto.post(`${PATH}/cancel`, body);
    expectDocumented('POST', `${PATH}/cancel`, byKey);
    expect(byKey.json).toEqual({ id: two.id, cancelled: true, answer: 'cancelled' });
    const { redis: client, keys } = server.context;
    expect(await readAudit(client, keys, 10)).toMatchObject([
      { who: 'otto', what: 'cancel', target: two.id, as: 'cancelled', why: 'asked for' },
      { who: 'key:shop', what: 'cancel', target: one.id, as: 'cancelled, key released' },
    ]);
  });

  it('by the form of the page leads back to the page', async () => {
    const { server, notices } = await bench();
    const { id } = await notices.send(NOTICE);
    const otto = await server.operator();
    const { text } = await otto.get(`/notices/${id}`, HTML);
    // In its card: an open form keeps the card from showing what it does not act on.
    const [card = ''] = /<section class="card" id="notice"[\s\S]*?<\/section>/.exec(text) ?? [];
    expect(card).toContain(`action="/api/v1/notices/${id}/cancel"`);
    const [, csrf = ''] = /name="_csrf" value="([^"]+)"/.exec(text) ?? [];
    const form = new URLSearchParams({ _csrf: csrf, _next: `/notices/${id}`, why: 'typo' });
    const reply = await otto.post(`/api/v1/notices/${id}/cancel`, form.toString(), HTML);
    expect([reply.status, reply.headers.location]).toEqual([303, `/notices/${id}`]);
    const after = await otto.get(`/notices/${id}`, HTML);
    expect(after.text).toContain('cancelled');
    expect(after.text).not.toContain(`/api/v1/notices/${id}/cancel`);
  });
});

describe('the page of a notice', () => {
  it('shows it by its id, its idempotency key and its own address, without a number', async () => {
    const { notices, viewer } = await bench();
    const { id } = await notices.send(NOTICE, { delay: 3_600_000, idempotencyKey: 'order-1' });
    for (const path of [`/notices/${id}`, `/notices?id=${id}`, '/notices?id=order-1']) {
      const { status, text } = await viewer.get(path, HTML);
      expect([path, status]).toEqual([path, 200]);
      expect(text).toContain(`<h2><code>${id}</code></h2>`);
      expect(text).toContain('pending, delayed for ');
      expect(text).not.toContain('0100');
    }
  });

  it('shows what to do, and what is not kept', async () => {
    const parked = await parkNotice(redis);
    const { viewer } = await bench(parked.prefix);
    const { text } = await viewer.get(`/notices/${parked.id}`, HTML);
    expect(text).toContain(`notices decide ${parked.id}`);
    expect(text).toContain('1 time');
    const unknown = await viewer.get('/notices?id=%3Cscript%3E', HTML);
    expect(unknown.status).toBe(200);
    expect(unknown.text).toContain('it never existed, or was deleted after its end');
    expect(unknown.text).not.toContain('<script>');
    const form = await viewer.get('/notices', HTML);
    expect(form.text).toContain('Look up');
  });
});
