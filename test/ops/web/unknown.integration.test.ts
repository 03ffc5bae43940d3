import { describe, expect, it } from 'vitest';
import type { JobData } from '../../../src/contracts/job.ts';
import { allFailed } from '../../../src/batch/ledger/settlement.ts';
import { readAudit } from '../../../src/ops/audit.ts';
import { NO_SEALING, sealingOf } from '../../../src/payload/seal.ts';
import { openJob, sealJob } from '../../../src/payload/sealed-job.ts';
import { buildBatch, contacts } from '../../batch/support/built-batch.ts';
import { testRedis } from '../../support/redis.ts';
import { parkNotice } from '../support/parked-notice.ts';
import { expectDocumented, startOps } from './support/ops-bench.ts';
import { readEnded } from '../../../src/notices/ended.ts';
import { endAs, failNotices } from '../support/failed-notices.ts';

const redis = testRedis();
const PATH = '/api/v1/unknown';
const HTML = { accept: 'text/html' };
const NUMBER = '01000000001';
const TRACES = { traceIds: ['trace-0', 'trace-1'] };
const why = 'looked it up';

/** A single notice, and a batch with two unknown chunks. */
async function bench() {
  const prefix = redis.freshPrefix();
  const { id } = await parkNotice(redis, {}, prefix, undefined, TRACES);
  const batch = await buildBatch(redis.client, prefix, 'b', [contacts(10, 100), contacts(10, 200)]);
  await batch.settle(0, allFailed('unknown', 'HTTP_503', 'HTTP 503 (trace id t-9)'));
  await batch.settle(1, allFailed('unknown', 'ECONNRESET', ''));
  const server = await startOps(redis.url, prefix);
  const [viewer, operator] = [await server.viewer(), await server.operator()];
  const audit = () => readAudit(redis.client, server.context.keys, 10);
  return { id, prefix, batch, viewer, operator, audit };
}

describe('unknown outcomes over HTTP', () => {
  it('are previewed and decided with the same filter, each as documented', async () => {
    const { id, batch, viewer, operator, audit } = await bench();
    const preview = await viewer.post(`${PATH}/preview`, { code: 'ECONNRESET' });
    expectDocumented('POST', `${PATH}/preview`, preview);
    expect(preview.json).toMatchObject({
      contacts: 11,
      listed: 1,
      batches: [{ batch: 'b', contacts: 10, parts: 1, codes: ['ECONNRESET'] }],
    });
    const decide = (fields: object) => operator.post(`${PATH}/resolve`, { ...fields, why });
    const chunk = await decide({ as: 'accepted', batch: 'b', chunk: 0 });
    expectDocumented('POST', `${PATH}/resolve`, chunk);
    expect(chunk.json).toMatchObject({ resolved: 1, contacts: 10, refused: [] });
    expect((await decide({ as: 'accepted', olderThanMs: 3_600_000 })).json).toMatchObject({
      resolved: 0,
    });
    const [one] = contacts(1, 205);
    expect((await decide({ as: 'discard', number: one?.contact })).json).toMatchObject({
      contacts: 1,
    });
    expect((await batch.read()).counts).toMatchObject({ accepted: 10, cancelled: 1, unknown: 9 });
    expect((await decide({ as: 'accepted', code: 'ECONNRESET' })).json).toMatchObject({
      contacts: 10,
    });
    expect((await audit()).map(({ target, as }) => [target, as])).toEqual([
      ['batch b', 'accepted'],
      [id, 'accepted'],
      ['batch b', 'discard'],
      ['number 010******05', 'searched'],
      ['batch b', 'accepted'],
    ]);
  });

  it('all: only single notices, in the preview as in the decision; false selects nothing', async () => {
    const { viewer, operator } = await bench();
    const preview = await viewer.post(`${PATH}/preview`, { all: true });
    expect(preview.json).toMatchObject({ contacts: 1, listed: 1, batches: [] });
    const refused = [
      { all: false },
      { all: true, batch: 'b' },
      { ids: ['a'], batch: 'b' },
      { ids: [] },
      { chunk: 1 },
      { before: 1, olderThanMs: 1 },
      {},
    ];
    for (const fields of refused) {
      const answer = await operator.post(`${PATH}/resolve`, { as: 'accepted', why, ...fields });
      expect([fields, answer.status]).toEqual([fields, 400]);
    }
    const done = await operator.post(`${PATH}/resolve`, { as: 'accepted', why, all: true });
    expect(done.json).toMatchObject({ resolved: 1, contacts: 1 });
  });

  it('a list of them has 500 notices at most, and of a batch what its failures sum up to', async () => {
    const { prefix, viewer } = await bench();
    await failNotices(redis, prefix, { count: 500, state: 'unknown' });
    const { json } = await viewer.get(`${PATH}?limit=1000000`);
    expect(json).toMatchObject({ listed: 501, notices: { length: 500 } });
    const preview = await viewer.post(`${PATH}/preview`, { batch: 'b' });
    const [{ at } = { at: 0 }] = preview.json['batches'] as { at: number }[];
    const codes = expect.arrayContaining(['HTTP_503', 'ECONNRESET']) as string[];
    expect(json['batches']).toEqual([
      { batch: 'b', template: 'T', at, contacts: 20, parts: 2, codes },
    ]);
  });

  it('a preview by number is recorded as a search, with the masked number', async () => {
    const { viewer, audit } = await bench();
    const { json } = await viewer.post(`${PATH}/preview`, { number: NUMBER });
    expect(json).toMatchObject({ contacts: 1 });
    expect(await audit()).toMatchObject([
      { who: 'vera', what: 'search', target: 'number 010******01', as: 'searched' },
    ]);
  });

  it('are downloaded with full numbers by an operator, which is recorded', async () => {
    const { id, viewer, operator, audit } = await bench();
    expect((await viewer.get(`${PATH}.csv`)).status).toBe(403);
    const { status, text } = await operator.get(`${PATH}.csv?code=ECONNRESET`);
    expect(status).toBe(200);
    expect(text.split('\n')).toHaveLength(13);
    expect(text).toMatch(
      new RegExp(`^"${NUMBER}","ONCE","ECONNRESET","trace-0 trace-1".*"${id}"`, 'm'),
    );
    expect(await audit()).toMatchObject([
      { who: 'otto', what: 'download', target: 'unknown outcomes', as: 'unknown ECONNRESET' },
    ]);
  });

  it('are decided on the page that counts what a filter selects, and not what becomes unknown later', async () => {
    const { id, viewer, operator, batch } = await bench();
    const list = await viewer.get(PATH);
    expectDocumented('GET', PATH, list);
    expect(list.json).toMatchObject({ notices: [TRACES], allBatches: true });
    const page = async (path: string) => (await operator.get(path, HTML)).text;
    const overview = await page('/notices');
    const [, decide = ''] = /href="(\/decide\?code=ECONNRESET[^"]*)"/.exec(overview) ?? [];
    expect(overview).toContain('href="/decide?batch=b"');
    expect((await viewer.get('/notices', HTML)).text).not.toContain('/decide');
    const text = await page(decide.replaceAll('&amp;', '&'));
    expect(text.replaceAll(/\s+/g, ' ')).toContain('1 contact: 1 single notice. ');
    expect(text).toContain('<input type="hidden" name="code" value="ECONNRESET" />');
    expect(text).toContain('<input type="hidden" name="all" value="true" />');
    const [, traces = ''] = /href="([^"]*unknown\.csv[^"]*)"/.exec(overview) ?? [];
    const { text: csv } = await operator.get(traces.replaceAll('&amp;', '&'));
    expect([csv.split('\n').length, csv.includes(id)]).toEqual([3, true]);
    expect((await page('/decide?code=ECONNRESET')).replaceAll(/\s+/g, ' ')).toContain(
      '11 contacts: 1 single notice, and 1 batch.',
    );
    expect(await page('/decide')).toContain('Decide on all 21 contacts<');
    expect(await page('/decide?code=NONE')).toContain('No unknown outcome matches');
    expect((await viewer.get('/decide', HTML)).text).not.toMatch(/type="radio"|0100000\d{4}/);
    const one = await page(`/notices/${id}`);
    expect(one).toContain(`name="ids" value="${id}"`);
    // Only the attempt that it shows.
    const [{ at = 0 } = {}] = list.json['notices'] as { at?: number }[];
    expect(one).toContain(`name="before" value="${at + 1}"`);
    const [, csrf = ''] = /name="_csrf" value="([^"]+)"/.exec(text) ?? [];
    const [, before = ''] = /name="before" value="(\d+)"/.exec(text) ?? [];
    const send = async (fields: Readonly<Record<string, string>>) => {
      const form = { _csrf: csrf, _next: '/notices', as: 'accepted', why, ...fields };
      return operator.post(`${PATH}/resolve`, new URLSearchParams(form).toString(), HTML);
    };
    await send({ before: '1' });
    expect((await batch.read()).counts).toMatchObject({ unknown: 20 });
    const single = await send({ code: 'ECONNRESET', before, all: 'true' });
    expect([single.status, single.headers.location]).toEqual([303, '/notices']);
    expect((await viewer.get(PATH)).json).toMatchObject({ contacts: 20, listed: 0 });
    expect(await send({ code: 'ECONNRESET', before })).toMatchObject({ status: 303 });
    expect((await batch.read()).counts).toMatchObject({ accepted: 10, unknown: 10 });
  });
});

describe('an unknown notice that this server cannot read', () => {
  const PAYLOAD_KEY = '42'.repeat(32);
  const sealing = sealingOf('default', { payloadKey: PAYLOAD_KEY });
  const unparsable = { v: 1, notice: { templateCode: 'T', contacts: [{}] } } as unknown as JobData;

  it.each([
    { what: 'with a key that is not configured here', env: {}, stored: undefined },
    { what: 'whose content no version reads', env: { PAYLOAD_KEY }, stored: unparsable },
  ])('$what: it is listed without its numbers, beside the others', async ({ env, stored }) => {
    const prefix = redis.freshPrefix();
    const { id, keys } = await parkNotice(redis, {}, prefix);
    const other = await parkNotice(redis, {}, prefix, undefined, { number: '01000000002' });
    const [entry] = await readEnded(redis.client, keys, [id]);
    const data = stored ?? openJob(JSON.parse(entry?.data ?? ''), id, NO_SEALING);
    await endAs(redis.client, keys, id, { data: JSON.stringify(sealJob(data, id, sealing)) });
    const server = await startOps(redis.url, prefix, env);
    const [viewer, operator] = [await server.viewer(), await server.operator()];
    const list = await viewer.get(PATH);
    expectDocumented('GET', PATH, list);
    expect(list.json).toMatchObject({
      notices: [
        { id, contacts: 1, numbers: [] },
        { id: other.id, numbers: ['010******02'] },
      ],
    });
    const page = await operator.get('/notices', HTML);
    expect([page.status, page.text.includes(id)]).toEqual([200, true]);
    const fields = { ids: [id], as: 'discard', why };
    const shown = { ...fields, before: 1 };
    expect((await operator.post(`${PATH}/resolve`, shown)).json).toMatchObject({ gone: 1 });
    expect((await operator.post(`${PATH}/resolve`, fields)).json).toMatchObject({ resolved: 1 });
  });
});
