import { describe, expect, it, vi } from 'vitest';
import { readAudit } from '../../../src/ops/audit.ts';
import type { Keys } from '../../../src/redis/keys.ts';
import { OPS_ROUTES } from '../../../src/ops/web/http/route-table.ts';
import { testRedis } from '../../support/redis.ts';
import { expectDocumented, startOps, type Caller, type OpsBench } from './support/ops-bench.ts';

const redis = testRedis();
const SECRET = '6'.repeat(64);
const NUMBER = '01077776666';
/** However it is written. */
const TRACES = /7777\D?6666/;
const PATH = '/api/v1/find';

/** A server that may find, a notice and a batch with the number, and a batch without. */
async function filled() {
  const bench = await startOps(redis.url, redis.freshPrefix(), { FIND_KEY: SECRET });
  const { notices } = bench.context;
  const { id: job } = await notices.send({ templateCode: 'ONE', contacts: [{ contact: NUMBER }] });
  await notices.import([{ contact: NUMBER }], { templateCode: 'LIST', batchId: 'autumn' });
  await notices.import([{ contact: '01077770000' }], { templateCode: 'LIST', batchId: 'other' });
  return { bench, job, viewer: await bench.viewer() };
}

/** Sends the form of the page, as a browser does. */
function sendForm(viewer: Caller, bench: OpsBench, number: string) {
  const { cookie = '', 'x-csrf-token': csrf = '' } = viewer.headers;
  const body = String(new URLSearchParams({ _csrf: csrf, number }));
  return bench.ask('/find', { method: 'POST', headers: { cookie, accept: 'text/html' }, body });
}

/** The page without the line breaks of its source. */
const plain = (text: string) =>
  text.replaceAll(/\s+/g, ' ').replaceAll(/> | </g, (at) => at.trim());

async function find(caller: Caller, body: unknown) {
  const reply = await caller.post(PATH, body);
  expectDocumented('POST', PATH, reply);
  return reply;
}

describe('the API', () => {
  it('finds a single notice and a contact of a batch, and repeats no number', async () => {
    const { viewer, job } = await filled();
    const { status, json, text } = await find(viewer, { number: '010-7777-6666' });
    expect(status).toBe(200);
    const known = { states: ['pending'], confirmed: true };
    expect(json).toMatchObject({
      notices: [{ ...known, job, template: 'ONE' }],
      contacts: [{ ...known, batch: 'autumn', chunk: 0, template: 'LIST' }],
      searched: { batches: 2, contacts: 2, unindexedChunks: 0 },
    });
    expect(text).not.toMatch(TRACES);
  });

  it('finds nothing of another number', async () => {
    const { viewer } = await filled();
    const { json } = await find(viewer, { number: '01077776667' });
    expect(json).toMatchObject({ notices: [], contacts: [], searched: { batches: 2 } });
  });

  it.each([
    [{ number: '+8210' + NUMBER.slice(3) + 'x' }, 'expected a phone number'],
    [{ number: `${NUMBER}x` }, 'expected a phone number'],
    [{ number: NUMBER.repeat(10) }, 'at most 100 characters'],
    [{ number: Number(NUMBER) }, 'expected a phone number'],
    [{ phone: NUMBER }, 'expected a phone number'],
  ])('%j is no number, and is not repeated', async (body, problem) => {
    const { viewer } = await filled();
    const { status, json, text } = await find(viewer, body);
    expect([status, json['code']]).toEqual([400, 'REQUEST_INVALID']);
    expect(json['detail']).toContain(problem);
    expect(text).not.toMatch(TRACES);
  });

  it('says how to switch it on where there is no key', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const { status, json } = await find(await bench.viewer(), { number: NUMBER });
    expect([status, json['code']]).toEqual([409, 'NOT_POSSIBLE']);
    expect(json['detail']).toMatch(/^The search is off because FIND_KEY is not set/);
  });

  it('is there for programs, up to its limit', async () => {
    const { bench } = await filled();
    const key = bench.key('viewer');
    const asked = Array.from({ length: 61 }, () => key.post(PATH, { number: 'none' }));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 429)).toHaveLength(1);
    expect((await bench.key('sender').post(PATH, { number: NUMBER })).status).toBe(403);
  });
});

describe('the page', () => {
  it('asks for the number in a form of its own, and stands in the navigation', async () => {
    const { viewer } = await filled();
    const { status, text } = await viewer.get('/find', { accept: 'text/html' });
    expect(status).toBe(200);
    const form = plain(text);
    expect(form).toContain('<a href="/find" aria-current="page">Find</a>');
    expect(form).toContain('<form method="post" action="/find"');
    expect(form).toMatch(/<label for="number">Phone number<\/label><input id="number"/);
    expect(form).toMatch(/name="number" inputmode="tel" autocomplete="off"/);
    expect(form).not.toContain('id="found"');
  });

  it('shows where the number was found, and how far it could see', async () => {
    const { bench, viewer, job } = await filled();
    const { status, text } = await sendForm(viewer, bench, '010 7777 6666');
    expect(status).toBe(200);
    const shown = plain(text);
    expect(shown).toContain(`notice<a href="/notices/${job}"><code>${job}</code></a>`);
    expect(shown).toContain('batch<a href="/batches/autumn">autumn</a>, row 1');
    expect(shown).not.toContain('/batches/other');
    expect(shown.match(/<i class="dot pending"><\/i>pending<\/td><td[^>]*>yes</g)).toHaveLength(2);
    expect(shown).toMatch(
      /in the last 7 d ?<span class="quiet small clock">[\d-]{10} \d\d:\d\d UTC<\/span><\/time ?>: single notices, and 2 contacts of 2 batches\./,
    );
    expect(text).not.toMatch(TRACES);
  });

  it('says so where nothing was found', async () => {
    const { bench, viewer } = await filled();
    const { status, text } = await sendForm(viewer, bench, '01077776667');
    expect(status).toBe(200);
    expect(text).toContain('Nothing was found.');
    expect(text).not.toMatch(/7777\D?6667/);
  });

  it.each([`${NUMBER}x`, `+82${NUMBER}x`, '"><script>alert(1)</script>', '', ' '])(
    'asks again where %j is no number',
    async (number) => {
      const { bench, viewer } = await filled();
      const { status, text } = await sendForm(viewer, bench, number);
      expect(status).toBe(400);
      const shown = plain(text);
      expect(shown).toMatch(/aria-describedby="number-problem number-help" aria-invalid="true"/);
      expect(shown).toMatch(/id="number-problem" role="alert">Not searched: expected/);
      expect(shown).toContain('<input id="number"');
      expect(shown).not.toMatch(/<input id="number"[^>]* value=/);
      expect(text).not.toMatch(/7777\D?6666|<script>/);
    },
  );

  it('says how to switch it on where there is no key', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const viewer = await bench.viewer();
    for (const [reply, expected] of [
      [await viewer.get('/find', { accept: 'text/html' }), 200],
      [await sendForm(viewer, bench, NUMBER), 409],
    ] as const) {
      expect(reply.status).toBe(expected);
      expect(plain(reply.text)).toContain('set FIND_KEY to the same 32 random bytes');
      expect(reply.text).not.toContain('action="/find"');
      expect(reply.text).not.toMatch(TRACES);
    }
  });
});

it('a search changes nothing; it is in the audit stream with the masked number, and in no log', async () => {
  const { bench, viewer } = await filled();
  const { logger, keys } = bench.context;
  const logged = (['debug', 'info', 'warn', 'error'] as const).map((one) => vi.spyOn(logger, one));
  const before = await contentOf(keys);
  for (const number of [NUMBER, `${NUMBER}x`]) {
    await viewer.post(PATH, { number });
    await sendForm(viewer, bench, number);
  }
  expect(await contentOf(keys)).toEqual(before);
  const entries = await readAudit(redis.client, keys, 10);
  const entry = {
    who: 'vera',
    what: 'search',
    target: expect.stringMatching(/^number 010\*+66$/) as unknown,
  };
  expect(entries).toMatchObject([entry, entry]);
  await viewer.post('/sign-out');
  const lines = logged.flatMap(({ mock }) => mock.calls.map((line) => JSON.stringify(line)));
  expect(lines.join('\n')).not.toMatch(TRACES);
  const changed = lines.filter((line) => line.includes('ops-change'));
  expect(changed).toEqual([expect.stringContaining('/sign-out')]);
});

/** Names of all keys but the audit stream, its shares and the marks of its entries. */
async function contentOf(keys: Keys): Promise<string[]> {
  const all = await redis.keys(keys.bullPrefix);
  const ofAudit = new Set([keys.auditReads]);
  return all.filter((key) => !ofAudit.has(key) && !key.startsWith(keys.done('')));
}

it('the number stands in no address', () => {
  const finding = OPS_ROUTES.filter(({ path }) => path.endsWith('/find'));
  expect(finding.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /find',
    'POST /find',
    'POST /api/v1/find',
  ]);
  expect(finding.every(({ params, query }) => params === undefined && query === undefined)).toBe(
    true,
  );
});
