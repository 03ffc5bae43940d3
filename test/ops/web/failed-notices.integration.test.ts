import { describe, expect, it } from 'vitest';
import { readAudit } from '../../../src/ops/audit.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { startWorkerInProcess } from '../../workers/support/worker-in-process.ts';
import { parkNotice } from '../support/parked-notice.ts';
import { expectDocumented, startOps } from './support/ops-bench.ts';
import { endAs } from '../support/failed-notices.ts';

const redis = testRedis();
const PATH = '/api/v1/failed-notices';
const BAD = '01000000009';
const HTML = { accept: 'text/html' };

async function bench() {
  const prefix = redis.freshPrefix();
  const server = await startOps(redis.url, prefix);
  const { notices, keys } = server.context;
  const worker = await startWorkerInProcess(redis.url, prefix, {}, { rejectContacts: [BAD] });
  const notice = { templateCode: 'CODE', contacts: [{ contact: BAD }] };
  const sent = await notices.sendMany([notice, notice, notice]);
  for (const { id } of sent) {
    const isRejected = async () => (await notices.get(id)).state === 'rejected';
    await until(isRejected, { what: 'the rejection', deadlineMs: 20_000 });
  }
  await worker.stop();
  const [viewer, operator] = [await server.viewer(), await server.operator()];
  const audit = () => readAudit(redis.client, keys, 10);
  return { server, notices, sent, viewer, operator, audit };
}

describe('failed single notices over HTTP', () => {
  it('are listed, downloaded, sent again and deleted, each as documented', async () => {
    const { notices, sent, viewer, operator, audit } = await bench();
    const [first, second, third] = sent.map(({ id }) => id);
    const list = await viewer.get(`${PATH}?code=INVALID_CONTACT&limit=2`);
    expectDocumented('GET', PATH, list);
    expect(list.json).toMatchObject({ matching: 3, complete: true });
    expect(list.json['groups']).toMatchObject([
      { code: 'INVALID_CONTACT', notices: 3, contacts: 3 },
    ]);
    expect(list.json['notices']).toHaveLength(2);
    expect(list.text).not.toContain(BAD);
    expect((await viewer.get(`${PATH}?template=OTHER`)).json).toMatchObject({ matching: 0 });
    expect((await viewer.get(`${PATH}?before=1`)).json).toMatchObject({ matching: 0 });

    expect((await viewer.get(`${PATH}.csv`)).status).toBe(403);
    const csv = await operator.get(`${PATH}.csv?state=rejected`);
    expect([csv.status, csv.text.split(BAD).length - 1]).toEqual([200, 3]);

    const one = { ids: [first], why: 'fixed' };
    const again = await operator.post(`${PATH}/redrive`, one);
    expectDocumented('POST', `${PATH}/redrive`, again);
    expect(again.json).toEqual({ done: 1, contacts: 1, late: 0, gone: 0, left: 0 });
    expect(await notices.get(first ?? '')).toMatchObject({ state: 'pending' });
    const look = await viewer.get(`/api/v1/notices/${first}`);
    expectDocumented('GET', `/api/v1/notices/${first}`, look);
    expect((await operator.post(`${PATH}/redrive`, one)).json).toMatchObject({ done: 0, gone: 1 });
    const gone = await operator.post(`${PATH}/delete`, {
      ids: [second],
      why: 'old',
      releaseKey: true,
    });
    expectDocumented('POST', `${PATH}/delete`, gone);
    expect(gone.json).toMatchObject({ done: 1 });
    const rest = await operator.post(`${PATH}/redrive`, {
      code: 'INVALID_CONTACT',
      rate: 50,
      why: 'x',
    });
    expect(rest.json).toMatchObject({ done: 1 });
    expect(await notices.get(third ?? '')).toMatchObject({ state: 'pending' });
    expect(await audit()).toMatchObject([
      { who: 'otto', what: 'redrive', target: third, as: 'rejected INVALID_CONTACT' },
      { what: 'delete', target: second, as: 'rejected' },
      { what: 'redrive', target: first, why: 'fixed' },
      { what: 'download', target: 'single notices', as: 'rejected' },
    ]);
  });

  it('unknown ones are not deleted', async () => {
    const parked = await parkNotice(redis);
    const operator = await (await startOps(redis.url, parked.prefix)).operator();
    const body = { ids: [parked.id], state: 'unknown', why: 'x' };
    const refused = await operator.post(`${PATH}/delete`, body);
    expect(refused).toMatchObject({ status: 409, json: { code: 'NOT_POSSIBLE' } });
    expect((await operator.post(`${PATH}/redrive`, body)).json).toMatchObject({ done: 1 });
  });

  it('the page has a form that filters them, and its actions keep to what it shows', async () => {
    const { server, notices, viewer, operator, sent } = await bench();
    const seen = (await viewer.get('/notices', HTML)).text;
    expect(seen).toContain('INVALID_CONTACT');
    expect(seen).not.toMatch(/01000000009|Send again\.\.\./);
    const { keys } = server.context;
    const [first] = sent;
    const other = sent[1]?.id ?? '';
    // Another template, failed two hours ago.
    const at = Date.now() - 7_200_000;
    await endAs(redis.client, keys, other, { template: 'OTHER', at });
    const page = async (query: string) => (await operator.get(`/notices?${query}`, HTML)).text;
    const shown = (text: string) =>
      sent.filter(({ id }) => text.includes(`href="/notices/${id}"`)).map(({ id }) => id);
    expect(shown(await page('template=OTHER&state=&code='))).toEqual([other]);
    expect(shown(await page('olderThanMs=3600000'))).toEqual([other]);
    expect(await page('state=unknown')).toContain('No failed notice matches.');

    // Pages keep the filter.
    const newest = await page('template=CODE&limit=1');
    const [, older = ''] = /href="\/notices\?([^"]*until=\d+)"/.exec(newest) ?? [];
    expect(older).toContain('template=CODE');
    const next = await page(older.replaceAll('&amp;', '&'));
    expect(next).toContain('value="CODE"');
    const text = await page('template=CODE&state=rejected');
    expect(shown(text)).toHaveLength(2);
    expect(text).toContain('value="CODE"');
    expect(text).toContain('<option value="rejected" selected>');
    expect(text).toContain('2 notices with INVALID_CONTACT, 2 contacts; only template CODE');
    expect(text).toMatch(/failed-notices\.csv\?[^"]*template=CODE/);
    const form =
      /action="\/api\/v1\/failed-notices\/redrive">([^]*?)<\/form>/.exec(text)?.[1] ?? '';
    const fields = [...form.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)];
    const body = new URLSearchParams();
    for (const [, name = '', value = ''] of fields) body.set(name, value);
    expect(body.get('template')).toBe('CODE');
    body.set('why', 'fixed');
    const reply = await operator.post(`${PATH}/redrive`, body.toString(), HTML);
    expect(reply.status).toBe(303);
    expect(reply.headers.location).toMatch(/^\/notices\?template=CODE/);
    expect(await notices.get(first?.id ?? '')).toMatchObject({ state: 'pending' });
    expect(await notices.get(other)).toMatchObject({ state: 'rejected' });
    const both = await operator.get('/notices?olderThanMs=1&before=5', HTML);
    expect(both.status).toBe(400);
    expect(both.text).toContain('expected only one of before and olderThanMs');
  });
});
