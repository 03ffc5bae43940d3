import { describe, expect, it } from 'vitest';
import { allFailed } from '../../../src/batch/ledger/settlement.ts';
import type { JobData } from '../../../src/contracts/job.ts';
import { readEnded } from '../../../src/notices/ended.ts';
import { readAudit } from '../../../src/ops/audit.ts';
import { NO_SEALING, sealingOf } from '../../../src/payload/seal.ts';
import { openJob, sealJob } from '../../../src/payload/sealed-job.ts';
import { buildBatch, contacts } from '../../batch/support/built-batch.ts';
import { testRedis } from '../../support/redis.ts';
import { endAs, failNotices } from '../support/failed-notices.ts';
import { parkNotice } from '../support/parked-notice.ts';
import { expectDocumented, startOps } from './support/ops-bench.ts';

const redis = testRedis();
const PATH = '/api/v1/failures';
const DECIDE = `${PATH}/decide`;
const HTML = { accept: 'text/html' };
const NUMBER = '01000000001';
const TRACES = { traceIds: ['trace-0', 'trace-1'] };
const why = 'looked it up';

async function openOps(prefix: string) {
  const server = await startOps(redis.url, prefix);
  const [viewer, operator] = [await server.viewer(), await server.operator()];
  const audit = () => readAudit(redis.client, server.context.keys, 10);
  const decide = (fields: object) => operator.post(DECIDE, { ...fields, why });
  return { server, viewer, operator, audit, decide };
}

/** A single notice, and a batch with two unknown chunks. */
async function inDoubt() {
  const prefix = redis.freshPrefix();
  const { id } = await parkNotice(redis, {}, prefix, undefined, TRACES);
  const batch = await buildBatch(redis.client, prefix, 'b', [contacts(10, 100), contacts(10, 200)]);
  await batch.settle(0, allFailed('unknown', 'HTTP_503', 'HTTP 503 (trace id t-9)'));
  await batch.settle(1, allFailed('unknown', 'ECONNRESET', ''));
  return { id, prefix, batch, ...(await openOps(prefix)) };
}

/** Six rejected single notices, and a batch of four rejected chunks with two contacts each. */
async function rejected() {
  const prefix = redis.freshPrefix();
  const { ids, keys } = await failNotices(redis, prefix, { count: 6 });
  const lists = Array.from({ length: 4 }, (_, at) => contacts(2, at * 2));
  const batch = await buildBatch(redis.client, prefix, 'b', lists);
  for (const chunk of lists.keys()) {
    await batch.settle(chunk, allFailed('rejected', 'BAD_NUMBER', ''));
  }
  return { ids, keys, batch, ...(await openOps(prefix)) };
}

/** The fields of a form that are hidden. */
function hiddenFields(form: string): URLSearchParams {
  const body = new URLSearchParams();
  for (const [, name = '', value = ''] of form.matchAll(
    /type="hidden" name="([^"]+)" value="([^"]*)"/g,
  )) {
    body.set(name, value);
  }
  return body;
}

describe('rejected notices over HTTP', () => {
  it('are listed, downloaded, sent again and given up, each as documented', async () => {
    const { ids, server, viewer, operator, audit, decide } = await rejected();
    const [first = '', second = '', third = ''] = ids;
    const list = await viewer.get(`${PATH}?code=BAD_NUMBER&limit=2`);
    expectDocumented('GET', PATH, list);
    expect(list.json).toMatchObject({
      contacts: 6,
      matching: 6,
      complete: true,
      groups: [{ state: 'rejected', code: 'BAD_NUMBER', contacts: 6, message: 'HTTP 400' }],
      notices: { length: 2 },
    });
    expect(list.text).not.toMatch(/0100000\d{4}/);
    for (const none of ['template=OTHER', 'before=2020-01-01', 'before=1h', 'state=unknown']) {
      const { json } = await viewer.get(`${PATH}?${none}`);
      expect([none, json['matching']]).toEqual([none, 0]);
    }
    expect((await viewer.get(`${PATH}.csv`)).status).toBe(403);
    const csv = await operator.get(`${PATH}.csv?state=rejected`);
    expect([csv.status, csv.text.trim().split('\n').length]).toEqual([200, 7]);
    expect(csv.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="failures.csv"',
      'cache-control': 'no-store',
    });

    const again = await decide({ as: 'resend', ids: [first] });
    const done = { done: 1, contacts: 1, late: 0, gone: 0, complete: true, refused: [] };
    expect(again.json).toEqual({ as: 'resend', ...done });
    const { notices } = server.context;
    expect((await decide({ as: 'resend', ids: [first] })).json).toMatchObject({ done: 0, gone: 1 });
    const discard = { as: 'discard', state: 'rejected', releaseKey: true };
    expect((await decide({ ...discard, ids: [second] })).json).toMatchObject({ done: 1 });
    expect((await decide({ ...discard, state: 'unknown' })).status).toBe(400);
    const rest = await decide({ as: 'resend', code: 'BAD_NUMBER', rate: 50 });
    expect(rest.json).toMatchObject({ done: 4 });
    expect(await notices.get(third)).toMatchObject({ state: 'pending' });
    expect(await audit()).toMatchObject([
      { who: 'otto', what: 'decide', target: 'single notices', as: 'resend rejected BAD_NUMBER' },
      { what: 'decide', target: second, as: 'discard rejected' },
      { what: 'decide', target: first, as: 'resend rejected', why },
      { what: 'download', target: 'failures', as: 'rejected' },
    ]);
  });

  it('the page has a form that filters them, and its actions keep to what it shows', async () => {
    const { server, keys, viewer, operator, ids } = await rejected();
    const { notices } = server.context;
    const seen = (await viewer.get('/notices', HTML)).text;
    expect(seen).toContain('BAD_NUMBER');
    expect(seen).not.toMatch(/0100000\d{4}|Decide on/);
    const [first = '', other = ''] = ids;
    // Another template, failed two hours ago.
    const at = Date.now() - 7_200_000;
    await endAs(redis.client, keys, other, { template: 'OTHER', at });
    const page = async (query: string) => (await operator.get(`/notices?${query}`, HTML)).text;
    const shown = (text: string) => ids.filter((id) => text.includes(`href="/notices/${id}"`));
    expect(shown(await page('template=OTHER&state=&code='))).toEqual([other]);
    expect(shown(await page('before=1h'))).toEqual([other]);
    expect(await page('state=unknown')).toContain('No failed notice matches.');

    // Pages keep the filter.
    const newest = await page('template=CODE&limit=1');
    const [, older = ''] = /href="\/notices\?([^"]*until=\d+)"/.exec(newest) ?? [];
    expect(older).toContain('template=CODE');
    const next = await page(older.replaceAll('&amp;', '&'));
    expect(next).toContain('value="CODE"');
    const text = await page('template=CODE&state=rejected');
    expect(shown(text)).toHaveLength(5);
    expect(text).toContain('value="CODE"');
    expect(text).toContain('<option value="rejected" selected>');
    expect(text).toContain('5 contacts of single notices with BAD_NUMBER; only template CODE');
    expect(text).toMatch(/failures\.csv\?[^"]*template=CODE/);
    const form = /action="\/api\/v1\/failures\/decide">([^]*?)<\/form>/.exec(text)?.[1] ?? '';
    const body = hiddenFields(form);
    expect(body.get('template')).toBe('CODE');
    body.set('as', 'resend');
    const unexplained = await operator.post(DECIDE, `${body.toString()}&why=`, HTML);
    expect([unexplained.status, unexplained.text]).toEqual([
      400,
      expect.stringMatching(/^<!doctype html>[^]*expected a reason/),
    ]);
    body.set('why', 'fixed');
    const reply = await operator.post(DECIDE, body.toString(), HTML);
    expect(reply.status).toBe(303);
    expect(reply.headers.location).toMatch(/^\/notices\?template=CODE/);
    expect(await notices.get(first)).toMatchObject({ state: 'pending' });
    expect(await notices.get(other)).toMatchObject({ state: 'rejected' });
    const noTime = await operator.get('/notices?before=noon', HTML);
    expect(noTime.status).toBe(400);
    expect(noTime.text).toContain('before: expected a time such as');
  });
});

describe('unknown outcomes over HTTP', () => {
  it('a preview counts what the decision with the same body decides, and needs its state', async () => {
    const { prefix, viewer, decide } = await inDoubt();
    await failNotices(redis, prefix, { count: 3, from: 10 });
    const refused = await viewer.post(`${PATH}/preview`, { single: true });
    expect(refused).toMatchObject({ status: 400, json: { issues: [{ field: 'state' }] } });
    for (const [body, contacts] of [
      [{ state: 'rejected', single: true }, 3],
      [{ state: 'unknown', single: true }, 1],
      [{ state: 'unknown' }, 20],
    ] as const) {
      const { json } = await viewer.post(`${PATH}/preview`, body);
      const { json: done } = await decide({ as: 'discard', ...body });
      expect([body, json['contacts'], done['contacts']]).toEqual([body, contacts, contacts]);
    }
  });

  it('a list reads the newest 500 notices; of a batch alone it has no notices', async () => {
    const { prefix, viewer } = await inDoubt();
    await failNotices(redis, prefix, { count: 500, state: 'unknown' });
    const { json } = await viewer.get(`${PATH}?limit=1000000`);
    expect(json).toMatchObject({ matching: 500, notices: { length: 500 }, complete: false });
    const codes = expect.arrayContaining(['HTTP_503', 'ECONNRESET']) as string[];
    expect(json['batches']).toEqual([{ batch: 'b', template: 'T', contacts: 20, codes }]);
    const preview = await viewer.post(`${PATH}/preview`, { state: 'unknown' });
    expect(preview.json).toMatchObject({ matching: 501, complete: true });
    const ofBatch = await viewer.get(`${PATH}?batch=b`);
    const alone = { contacts: 20, matching: 0, notices: [], batches: [], complete: true };
    expect(ofBatch.json).toMatchObject({ ...alone, groups: { length: 2 } });
  });

  it('the page decides on what it has counted: all where it is asked to, else none that it did not read', async () => {
    const { prefix, viewer, operator } = await inDoubt();
    const page = async (query: string) => (await operator.get(`/notices${query}`, HTML)).text;
    const all = await page('');
    expect(all).toContain('Decide on all 21 unknown contacts...');
    expect(all).toContain('1 of single notices, and 20 of 1 list.');
    // Without a state the file has no unknown ones: it would be empty.
    expect(all).not.toContain('failures.csv');
    expect(await page('?state=unknown')).toMatch(/failures\.csv\?[^"]*single=true/);
    const ofList = await page('?code=HTTP_503');
    expect(ofList).toContain('No failed notice matches.');
    expect(ofList).toContain('href="/batches/b"');
    expect(ofList).not.toContain('failures.csv');
    // With an age the page does not read what failed of lists, and says so.
    const young = await page('?before=1ms');
    expect(young).toContain(
      'Only single notices: lists with unknown contacts are on the first page',
    );
    expect(young).not.toContain('href="/batches/b"');
    await failNotices(redis, prefix, { count: 600, state: 'unknown' });
    const newest = await page('');
    expect(newest).not.toMatch(/Decide on all|failures\.csv/);
    // Of a list the number is known.
    expect(newest).toContain('Decide on 20 contacts...');
    const [, path = ''] = /href="\/notices(\?[^"]*all=true)"/.exec(newest) ?? [];
    const counted = await page(path);
    expect(counted).toContain('600 contacts of single notices with BAD_NUMBER.');
    expect(counted).toContain('Decide on all 621 unknown contacts...');
    expect(await page('?all=true&state=unknown')).toContain('failures.csv');
    expect(counted).not.toContain('data-refresh');
    const none = await viewer.get('/notices?all=true&code=NONE', HTML);
    expect(none.text).not.toContain('data-refresh');
  });

  it('a preview by number is recorded as a search, with the masked number', async () => {
    const { viewer, audit } = await inDoubt();
    const { json } = await viewer.post(`${PATH}/preview`, { number: NUMBER, state: 'unknown' });
    expect(json).toMatchObject({ contacts: 1 });
    expect(await audit()).toMatchObject([
      { who: 'vera', what: 'search', target: 'number 010******01', as: 'searched' },
    ]);
  });

  it('are decided on the pages that show them, and not what becomes unknown later', async () => {
    const { id, viewer, operator, batch } = await inDoubt();
    const page = async (path: string) => (await operator.get(path, HTML)).text;
    const formsOf = (text: string) =>
      [...text.matchAll(/action="\/api\/v1\/failures\/decide">([^]*?)<\/form>/g)].map(([, form]) =>
        hiddenFields(form ?? ''),
      );
    expect((await viewer.get('/notices', HTML)).text).not.toMatch(/type="radio"|0100000\d{4}/);
    const shown = await page('/notices');
    expect(shown).not.toMatch(/releaseKey|never sent/);
    const [single, list, all] = formsOf(shown);
    expect(Object.fromEntries(single ?? [])).toMatchObject({ code: 'ECONNRESET', single: 'true' });
    expect(Object.fromEntries(list ?? [])).toMatchObject({ batch: 'b', state: 'unknown' });
    expect([all?.has('batch'), all?.has('single')]).toEqual([false, false]);
    const one = await page(`/notices/${id}`);
    expect(one).toContain(`name="ids" value="${id}"`);
    // Only the attempt that it shows.
    const [{ endedAt = 0 } = {}] = (await viewer.get(PATH)).json['notices'] as {
      endedAt?: number;
    }[];
    expect(one).toContain(`name="before" value="${endedAt + 1}"`);
    const send = async (form: URLSearchParams | undefined, more = {}) => {
      const body = new URLSearchParams(form);
      for (const [name, value] of Object.entries({ as: 'accepted', why, ...more })) {
        body.set(name, value);
      }
      return operator.post(DECIDE, body.toString(), HTML);
    };
    await send(all, { before: '2020-01-01' });
    expect((await batch.read()).counts).toMatchObject({ unknown: 20 });
    expect(await send(single)).toMatchObject({ status: 303, headers: { location: '/notices' } });
    expect((await viewer.get(PATH)).json).toMatchObject({ contacts: 20, matching: 0 });
    const ofCode = formsOf(await page('/batches/b')).find(
      (form) => form.get('code') === 'HTTP_503',
    );
    expect(await send(ofCode)).toMatchObject({ status: 303 });
    expect((await batch.read()).counts).toMatchObject({ accepted: 10, unknown: 10 });
  });
});

describe('a decision with a rate', () => {
  it('answers how long to wait before it is repeated, so that the rate holds across requests', async () => {
    const { decide } = await rejected();
    const startedAt = performance.now();
    const reply = await decide({ as: 'resend', single: true, limit: 1, rate: 1 });
    const tookMs = performance.now() - startedAt;
    const { waitMs, ...report } = reply.json;
    expect(report).toMatchObject({ done: 1, contacts: 1, complete: false });
    // One notice at one a second: the request and the wait are a second, or more.
    expect(Number(waitMs) + tookMs).toBeGreaterThanOrEqual(1_000);
    expect(waitMs).toBeLessThanOrEqual(1_000);
    // Without a rate there is nothing to wait for.
    const rest = await decide({ as: 'resend', single: true });
    expect(rest.json).toMatchObject({ done: 5, complete: true });
    expect(rest.json).not.toHaveProperty('waitMs');
  });
});

describe('an unknown notice that this server cannot read', () => {
  const PAYLOAD_KEY = '42'.repeat(32);
  const sealing = sealingOf('default', { payloadKey: PAYLOAD_KEY });
  const unparsable = { v: 1, notice: { templateCode: 'T', contacts: [{}] } } as unknown as JobData;

  it.each([
    { what: 'with a key that is not configured here', env: {}, stored: undefined },
    { what: 'whose content no version reads', env: { PAYLOAD_KEY }, stored: unparsable },
  ])('$what: it is listed and decided like others', async ({ env, stored }) => {
    const prefix = redis.freshPrefix();
    const { id, keys } = await parkNotice(redis, {}, prefix);
    const [entry] = await readEnded(redis.client, keys, [id]);
    const data = stored ?? openJob(JSON.parse(entry?.data ?? ''), id, NO_SEALING);
    await endAs(redis.client, keys, id, { data: JSON.stringify(sealJob(data, id, sealing)) });
    const server = await startOps(redis.url, prefix, env);
    const [viewer, operator] = [await server.viewer(), await server.operator()];
    const list = await viewer.get(PATH);
    expectDocumented('GET', PATH, list);
    expect(list.json).toMatchObject({ notices: [{ id, contacts: 1 }] });
    const page = await operator.get('/notices', HTML);
    expect([page.status, page.text.includes(id)]).toEqual([200, true]);
    const fields = { ids: [id], as: 'discard', why };
    const shown = { ...fields, before: Date.UTC(2020, 0) };
    expect((await operator.post(DECIDE, shown)).json).toMatchObject({ gone: 1 });
    expect((await operator.post(DECIDE, fields)).json).toMatchObject({ done: 1 });
  });
});
