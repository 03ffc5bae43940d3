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
import { endAs } from '../support/failed-notices.ts';

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
  await batch.settle(0, allFailed(10, 'unknown', 'HTTP_503', 'HTTP 503 (trace id t-9)'));
  await batch.settle(1, allFailed(10, 'unknown', 'ECONNRESET', ''));
  const server = await startOps(redis.url, prefix);
  const [viewer, operator] = [await server.viewer(), await server.operator()];
  const audit = () => readAudit(redis.client, server.context.keys, 10);
  return { id, batch, viewer, operator, audit };
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

  it('a preview by number is recorded as a search, with the masked number', async () => {
    const { viewer, audit } = await bench();
    const { json } = await viewer.post(`${PATH}/preview`, { number: NUMBER });
    expect(json).toMatchObject({ contacts: 1 });
    expect(await audit()).toMatchObject([
      { who: 'vera', what: 'search', target: 'number 010******01', as: 'searched' },
    ]);
  });

  it('what selects nothing, or contradicts itself, is refused', async () => {
    const { operator, viewer } = await bench();
    for (const [fields, problem] of [
      [{}, 'expected either ids or a filter, such as batch or code'],
      [{ ids: ['x'], code: 'y' }, 'expected either ids or a filter, such as batch or code'],
      [{ chunk: 1 }, 'expected with batch'],
      [{ before: 1, olderThanMs: 1 }, 'expected only one of before and olderThanMs'],
    ] as const) {
      const reply = await operator.post(`${PATH}/resolve`, { as: 'discard', why, ...fields });
      expect([fields, reply.status, reply.json['issues']]).toMatchObject([
        fields,
        400,
        [{ problem }],
      ]);
    }
    expect((await viewer.post(`${PATH}/resolve`, { as: 'discard', code: 'x', why })).status).toBe(
      403,
    );
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

  it('the page shows masked numbers and trace ids, previews, and decides on what it shows', async () => {
    const { viewer, operator, batch } = await bench();
    const { text } = await operator.get('/unknown', HTML);
    expect(text).toContain('010******01');
    expect(text).toContain('<code>trace-0</code> <code>trace-1</code>');
    const list = await viewer.get(PATH);
    expectDocumented('GET', PATH, list);
    expect(list.json).toMatchObject({ notices: [TRACES], allBatches: true });
    expect((await viewer.get('/unknown', HTML)).text).not.toMatch(/0100000\d{4}/);
    const [, csrf = ''] = /name="_csrf" value="([^"]+)"/.exec(text) ?? [];
    const send = (path: string, fields: Readonly<Record<string, string>>) =>
      operator.post(path, new URLSearchParams({ _csrf: csrf, ...fields }).toString(), HTML);
    const preview = await send('/unknown', { code: 'HTTP_503', olderThanMs: '', number: '' });
    expect(preview.text).toContain('Decide on all 10 contacts selected by code HTTP_503');
    expect(preview.text).toContain('<input type="hidden" name="code" value="HTTP_503" />');
    // Everything: what becomes unknown after the preview is left out.
    const everything = await send('/unknown', { code: '' });
    expect(everything.text).toContain('Decide on all 21 contacts<');
    const [, before = ''] = /name="before" value="(\d+)"/.exec(everything.text) ?? [];
    expect(Number(before) - Date.now()).toBeLessThan(1_001);
    const late = await send(`${PATH}/resolve`, { before: '1', as: 'accepted', why });
    expect(late.status).toBe(200);
    const [one] = contacts(1, 205);
    const number = one?.contact ?? '';
    const found = await send('/unknown', { number });
    expect(found.text).toContain('all 1 contact selected by the phone number');
    expect(found.text).not.toContain(number);
    const fields = { _next: '/unknown', as: 'accepted', why, number };
    const done = await send(`${PATH}/resolve`, fields);
    expect([done.status, done.headers.location]).toEqual([303, '/unknown']);
    expect((await batch.read()).counts).toMatchObject({ accepted: 1, unknown: 19 });
    expect((await send('/unknown', { code: 'NONE' })).text).toContain('No unknown outcome matches');
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
    const page = await operator.get('/unknown', HTML);
    expect(page.status).toBe(200);
    expect(page.text).toContain(id);
    expect(page.text).toContain('>1 contact</td>');
    expect(page.text).toContain('010******02');
    const [, csrf = ''] = /name="_csrf" value="([^"]+)"/.exec(page.text) ?? [];
    const form = new URLSearchParams({ _csrf: csrf, code: 'ECONNRESET' }).toString();
    const preview = await operator.post('/unknown', form, HTML);
    expect([preview.status, preview.text.includes(id)]).toEqual([200, true]);
    const fields = { ids: [id], as: 'discard', why };
    // The page names when it was drawn: what became unknown later was not shown.
    expect(page.text).toMatch(/name="before" value="\d{13}"/);
    const shown = { ...fields, before: 1 };
    expect((await operator.post(`${PATH}/resolve`, shown)).json).toMatchObject({ gone: 1 });
    expect((await operator.post(`${PATH}/resolve`, fields)).json).toMatchObject({ resolved: 1 });
  });
});
