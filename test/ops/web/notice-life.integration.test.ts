import { expect, it } from 'vitest';
import { showNotice } from '../../../src/ops/operations/notice.ts';
import { noticeWorld } from '../../notices/support/notice-world.ts';
import { testRedis } from '../../support/redis.ts';
import { parkNotice } from '../support/parked-notice.ts';
import { startOps } from './support/ops-bench.ts';

const redis = testRedis();
const NOTICE = { templateCode: 'ORDER', contacts: [{ contact: '01000000001' }] };
const HTML = { accept: 'text/html' };

it('what does not exist is not-kept over HTTP, whatever its id', async () => {
  const shop = (await startOps(redis.url, redis.freshPrefix())).key('sender');
  const look = (id: string) => shop.get(`/api/v1/notices/${encodeURIComponent(id)}`);
  const counts = { contacts: 0, attempts: 0, possiblySent: 0 };
  for (const id of ['n-AAAAAAAAAAAAAAAA', 'wait', '../../x', '\0', '한국어', 'a b"<script>']) {
    const { status, json } = await look(id);
    expect([status, json]).toEqual([200, { id, state: 'not-kept', ...counts }]);
  }
  expect((await look('x'.repeat(201))).json['issues']).toEqual([
    { field: 'id', problem: 'expected at most 200 characters' },
  ]);
});

it('the page shows a notice by its id and its idempotency key, without a number; its form cancels it', async () => {
  const server = await startOps(redis.url, redis.freshPrefix());
  const otto = await server.operator();
  const options = { delay: 3_600_000, idempotencyKey: 'order-1' };
  const { id } = await server.context.notices.send(NOTICE, options);
  const own = `/notices/${id}`;
  for (const path of [own, `/notices?id=${id}`, '/notices?id=order-1']) {
    const { status, text } = await otto.get(path, HTML);
    expect([path, status]).toEqual([path, 200]);
    expect(text).toContain(`<h2><code>${id}</code></h2>`);
    expect(text).toContain('pending, delayed, due <time datetime=');
    expect(text).not.toContain('0100');
  }
  const { text } = await otto.get(own, HTML);
  // In its card: an open form keeps the card from showing what it does not act on.
  const [card = ''] = /<section class="card" id="notice"[\s\S]*?<\/section>/.exec(text) ?? [];
  expect(card).toContain(`action="/api/v1${own}/cancel"`);
  const [, csrf = ''] = /name="_csrf" value="([^"]+)"/.exec(text) ?? [];
  const form = new URLSearchParams({ _csrf: csrf, _next: own, why: 'typo' });
  const reply = await otto.post(`/api/v1${own}/cancel`, form.toString(), HTML);
  expect([reply.status, reply.headers.location]).toEqual([303, own]);
  const after = await otto.get(own, HTML);
  expect(after.text).toContain('cancelled');
  expect(after.text).not.toContain(`/api/v1${own}/cancel`);
});

it('the page shows what to do, and what is not kept', async () => {
  const { prefix, id } = await parkNotice(redis);
  const viewer = await (await startOps(redis.url, prefix)).viewer();
  const { text } = await viewer.get(`/notices/${id}`, HTML);
  expect(text).toContain(`notices decide ${id}`);
  expect(text).toContain('1 time');
  const none = await viewer.get('/notices?id=%3Cscript%3E', HTML);
  expect(none.status).toBe(200);
  expect(none.text).toContain('it never existed, or was deleted after its end');
  expect(none.text).not.toContain('<script>');
});

it('pages, API and CLI show the attempts that ended unknown, with their times, also of one that has ended', async () => {
  const { queue, prefix, worker, reaching } = noticeWorld(redis);
  const faults = [{ on: 'send' as const, times: 3, status: 503 }];
  await worker({ UNKNOWN_RESENDS: '1', BACKOFF_BASE_MS: '100' }, { faults });
  const viewer = await (await startOps(redis.url, prefix)).viewer();
  for (const state of ['unknown', 'accepted'] as const) {
    const { id } = await queue.send(NOTICE);
    const view = await reaching(id, state);
    const { enqueuedAt = 0, endedAt = 0, unknownAttempts = [] } = view;
    const { json } = await viewer.get(`/api/v1/notices/${id}`);
    expect(json).toMatchObject({ attempts: 2, unknownAttempts });
    expect(unknownAttempts.map(({ code }) => code)).toEqual(['HTTP_503']);
    const at = unknownAttempts[0]?.at ?? 0;
    expect([enqueuedAt < at, at < endedAt]).toEqual([true, true]);
    expect(showNotice.text?.(view, Date.now(), { id }).join(' ')).toMatch(
      /attempt +[\d:. +A-Z-]+ .*possibly sent, HTTP_503/,
    );
    const { text } = await viewer.get(`/notices/${id}`, HTML);
    const rows = [...text.matchAll(/data-label="What">([^]*?)<\/td>/g)].map(([, what = '']) =>
      what.replaceAll(/<[^>]*>/g, '').trim(),
    );
    const started = ['last attempt started', state];
    expect(rows).toEqual(['queued', 'attempt ended, possibly sent', ...started]);
    expect(text).toContain(`datetime="${new Date(at).toISOString()}"`);
  }
});
