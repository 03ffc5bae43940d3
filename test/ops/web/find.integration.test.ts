import { describe, expect, it, vi } from 'vitest';
import { readAudit } from '../../../src/ops/audit.ts';
import { testRedis } from '../../support/redis.ts';
import { expectDocumented, startOps, type Caller } from './support/ops-bench.ts';

const redis = testRedis();
const NUMBER = '01077776666';
/** However it is written. */
const TRACES = /7777\D?6666/;
const PATH = '/api/v1/find';

/** A server that may find, a notice and a batch with the number, and a batch without. */
async function filled(env: Readonly<Record<string, string>> = { FIND_KEY: '6'.repeat(64) }) {
  const bench = await startOps(redis.url, redis.freshPrefix(), env);
  const { notices } = bench.context;
  const { id: job } = await notices.send({ templateCode: 'ONE', contacts: [{ contact: NUMBER }] });
  await notices.import([{ contact: NUMBER }], { templateCode: 'LIST', batchId: 'autumn' });
  await notices.import([{ contact: '01077770000' }], { templateCode: 'LIST', batchId: 'other' });
  const viewer = await bench.viewer();
  const { cookie = '', 'x-csrf-token': csrf = '' } = viewer.headers;
  /** Sends the form of the page, as a browser does. @returns the page without the line breaks of its source */
  const sendForm = async (number: string) => {
    const body = String(new URLSearchParams({ _csrf: csrf, number }));
    const headers = { cookie, accept: 'text/html' };
    const { status, text } = await bench.ask('/find', { method: 'POST', headers, body });
    return {
      status,
      text: text.replaceAll(/\s+/g, ' ').replaceAll(/> | <| >/g, (at) => at.trim()),
    };
  };
  return { bench, job, viewer, sendForm };
}

async function find(caller: Caller, body: unknown) {
  const reply = await caller.post(PATH, body);
  expectDocumented('POST', PATH, reply);
  return reply;
}

describe('a search for a number', () => {
  it('finds a single notice and a contact of a batch, and repeats no number', async () => {
    const { viewer, job, sendForm } = await filled();
    const { status, json, text } = await find(viewer, { number: '010-7777-6666' });
    const known = { states: ['pending'], confirmed: true };
    expect([status, json]).toMatchObject([
      200,
      {
        notices: [{ ...known, job, template: 'ONE' }],
        contacts: [{ ...known, batch: 'autumn', chunk: 0, template: 'LIST' }],
        searched: { batches: 2, contacts: 2, unindexedChunks: 0 },
      },
    ]);
    expect(text).not.toMatch(TRACES);
    const page = await sendForm('010 7777 6666');
    for (const words of [
      `notice<a href="/notices/${job}"><code>${job}</code></a>`,
      'batch<a href="/batches/autumn">autumn</a>, row 1',
    ]) {
      expect(page.text).toContain(words);
    }
    expect(page.text).toMatch(/ single notices, and 2 contacts of 2 batches\./);
    const pending = /<i class="dot pending"><\/i>pending<\/td><td[^>]*>yes</g;
    expect(page.text.match(pending)).toHaveLength(2);
    expect(page.text).not.toMatch(/\/batches\/other|7777\D?6666/);
    const none = await sendForm('01077776667');
    expect([none.status, none.text]).toEqual([200, expect.stringContaining('Nothing was found.')]);
  });

  it('asks again for what is no number, and repeats nothing', async () => {
    const { viewer, sendForm } = await filled();
    for (const body of [{ number: `${NUMBER}x` }, { number: Number(NUMBER) }, { phone: NUMBER }]) {
      const { status, text } = await find(viewer, body);
      expect(status).toBe(400);
      expect(text).not.toMatch(TRACES);
    }
    for (const number of [`${NUMBER}x`, `+82${NUMBER}x`, '"><script>alert(1)</script>', '', ' ']) {
      const { status, text } = await sendForm(number);
      expect([number, status]).toEqual([number, 400]);
      expect(text).toMatch(/aria-describedby="number-problem number-help"\s*aria-invalid="true"/);
      expect(text).toMatch(/id="number-problem" role="alert">Not searched: expected/);
      expect(text).not.toMatch(/7777\D?6666|<script>|name="number"[^>]* value=/);
    }
  });

  it('says how to switch it on where there is no key', async () => {
    const { viewer, sendForm } = await filled({});
    const { status, json } = await find(viewer, { number: NUMBER });
    expect([status, json['code']]).toEqual([409, 'NOT_POSSIBLE']);
    expect(json['detail']).toMatch(/^The search is off because FIND_KEY is not set/);
    expect((await viewer.get('/find')).text).not.toContain('action="/find"');
    const sent = await sendForm(NUMBER);
    expect(sent.status).toBe(409);
    expect(sent.text).toContain('set FIND_KEY to the same 32 random bytes');
    expect(sent.text).not.toMatch(TRACES);
  });

  it('is in the audit stream with the masked number, and in no log', async () => {
    const { bench, viewer, sendForm } = await filled();
    const { logger, keys } = bench.context;
    const logged = (['debug', 'info', 'warn', 'error'] as const).map((one) =>
      vi.spyOn(logger, one),
    );
    for (const number of [NUMBER, `${NUMBER}x`]) await viewer.post(PATH, { number });
    // However it is written.
    for (const number of ['010-7777-6666', `${NUMBER}x`]) await sendForm(number);
    const target = 'number 010******66';
    const entry = { who: 'vera', what: 'search', target };
    expect(await readAudit(redis.client, keys, 10)).toMatchObject([entry, entry]);
    const lines = logged.flatMap(({ mock }) => mock.calls.map((line) => JSON.stringify(line)));
    expect(lines.join('\n')).not.toMatch(/7777\D?6666|ops-change/);
  });
});
