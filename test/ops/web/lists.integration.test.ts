import { once } from 'node:events';
import { request as httpRequest, type ClientRequest } from 'node:http';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { decodeContacts } from '../../../src/payload/chunk-payload.ts';
import { readableOf } from '../../../src/ops/web/api/list-routes.ts';
import { appendAudit } from '../../../src/ops/audit.ts';
import { buildBatch, contacts, part } from '../../batch/support/built-batch.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { expectDocumented, startOps, type OpsBench } from './support/ops-bench.ts';

const redis = testRedis();
const PATH = '/api/v1/batches';
const CSV = 'text/csv; charset=utf-8';
const NDJSON = 'application/x-ndjson';

const numberOf = (index: number) => `010${String(index).padStart(8, '0')}`;
const rows = (count: number) =>
  Array.from({ length: count }, (_, index) => `${numberOf(index)},Kim ${index}\n`).join('');

async function bench(env: Readonly<Record<string, string>> = {}) {
  const server = await startOps(redis.url, redis.freshPrefix(), { COUNTRY: 'KR', ...env });
  const { headers } = server.key('sender');
  const open = (query: string, type = CSV) => {
    const call = httpRequest(`${server.url}${PATH}?templateCode=T&${query}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': type },
      agent: false,
    });
    call.on('error', () => {});
    return call;
  };
  const send = async (query: string, body: string, type?: string) => {
    const call = open(query, type);
    const answer = answerOf(call);
    call.end(body);
    const reply = await answer;
    expectDocumented('POST', PATH, { ...reply, headers: {}, text: '' });
    return reply;
  };
  return { server, open, send };
}

async function answerOf(call: ClientRequest) {
  const [answer] = (await once(call, 'response')) as [
    NodeJS.ReadableStream & { statusCode?: number },
  ];
  const json = JSON.parse(await text(answer)) as Record<string, unknown>;
  return { status: answer.statusCode ?? 0, json };
}

async function sentTo({ context }: OpsBench, id: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await context.ledger.payloadNames(id)) {
    const payload = await context.ledger.payload(id, name);
    if (payload === undefined) continue;
    for (const { contact } of await decodeContacts(payload)) found.push(contact);
  }
  return found.sort();
}

const PEOPLE = `Phone,Name\n${rows(3)}none,Lee\n${rows(1)}`;
const OBJECTS = [0, 1, 2, 0].map((one) => `{"contact":"${numberOf(one)}","var1":"Kim"}\n`).join('');

it.each([
  ['Text/CSV', PEOPLE, 'map=contact%3DPhone,var1%3DName'],
  [NDJSON, `${OBJECTS}{}\n`, ''],
])('%s is imported with the options of the query, and its progress is read', async (...row) => {
  const [type, list, query] = row;
  const { server, send } = await bench();
  const { status, json } = await send(`batchId=nov&rate=14&paused=true&${query}`, list, type);
  expect([status, json]).toEqual([
    200,
    expect.objectContaining({ batch: 'nov', contacts: 3, refused: 1, duplicates: 1 }),
  ]);
  const progress = await server.key('sender').get(`${PATH}/nov`);
  expect(progress.json).toMatchObject({ batch: { phase: 'paused', rate: 14, rows: 5 } });
  expect(await sentTo(server, 'nov')).toEqual([0, 1, 2].map(numberOf));
  const audit = (await (await server.operator()).get('/api/v1/audit')).json;
  expect(audit).toMatchObject({ entries: [{ who: 'key:shop', what: 'import', contacts: 3 }] });
  expect((await send('batchId=nov&rate=14&paused=true&' + query, list, type)).json).toMatchObject({
    alreadyImported: true,
  });
});

it('a sender reads the state of a list, and neither what was not accepted nor its path', async () => {
  const prefix = redis.freshPrefix();
  const server = await startOps(redis.url, prefix);
  const reading = { file: '/home/kim/people.csv', bytes: 100, flags: {} };
  const options = { importing: true, plan: { reading } };
  const built = await buildBatch(redis.client, prefix, 'cut', [contacts(10)], options);
  const failed = await part('rejected', 'BAD_NUMBER', contacts(3));
  await built.settle(0, { accepted: 7, failed: [failed] });

  await server.context.ledger.control('cut', 'pause');
  const entry = { what: 'batch', target: 'batch cut', as: 'paused' } as const;
  const lee = { who: 'lee', why: 'ask 01023456789' };
  await appendAudit(server.context, lee, entry);
  const viewer = await server.key('viewer').get(`${PATH}/cut`);
  expectDocumented('GET', `${PATH}/cut`, viewer);
  expect(viewer.json).toMatchObject({
    batch: { paused: { who: 'lee', why: 'ask [number]' } },
    continueImport: expect.stringContaining('/home/kim/people.csv') as string,
    failures: [{ state: 'rejected', code: 'BAD_NUMBER', contacts: 3 }],
  });
  const sender = await server.key('sender').get(`${PATH}/cut`);
  expectDocumented('GET', `${PATH}/cut`, sender);
  expect(sender.json).toMatchObject({
    batch: { phase: 'paused', counts: { total: 10, accepted: 7, rejected: 3 } },
    standstill: 'it is paused; "notices resume cut" continues it',
    continueImport: null,
    failures: [],
  });
  expect(sender.text).not.toMatch(/kim|BAD_NUMBER|lee/);
  const page = await (await server.operator()).get('/batches/cut');
  expect(page.text).toMatch(/Paused by lee .*: ask 01023456789\./s);
});

it('the page of a list changes its rate, for operators', async () => {
  const { server, send } = await bench();
  await send('batchId=nov', `contact,var1\n${rows(3)}`);
  const operator = await server.operator();
  const page = async (caller: typeof operator) =>
    (await caller.get('/batches/nov', { accept: 'text/html' })).text;
  const path = `${PATH}/nov/rate`;
  expect(await page(await server.viewer())).not.toContain(path);
  const [, form = ''] = (await page(operator)).split(`action="${path}">`);
  expect(form.split('</form>')[0]).toMatch(/name="rate"[^]*name="why"[^>]* required/);
  const body = new URLSearchParams({ rate: '7', why: 'slower', _next: '/batches/nov' });
  const posted = await operator.post(path, body.toString(), { accept: 'text/html' });
  expect(posted).toMatchObject({ status: 303, headers: { location: '/batches/nov' } });
  expect(await page(operator)).toMatch(/Limit[^]*7 contacts a second/);
  const { json } = await operator.get('/api/v1/audit');
  expect(json['entries']).toContainEqual(
    expect.objectContaining({ target: 'batch nov', as: 'rate 7', why: 'slower' }),
  );
});

it('refuses what the command refuses, with its codes', async () => {
  const { send, server } = await bench();
  await send('batchId=first', `contact\n${numberOf(1)}\n${numberOf(2)}\n`);
  const table: [string, string, number, string, RegExp, string?][] = [
    ['', `번호,휴대폰\n1,${numberOf(1)}\n`, 422, 'SOURCE_INVALID', /--map 'contact=휴대폰'/],
    ['map=contact%3D번호', `번호\n${'1\n'.repeat(50)}`, 422, 'SOURCE_INVALID', /implausible/],
    ['', `contact\n${numberOf(2)}\n${numberOf(3)}\n`, 409, 'LIST_REPEATED', /1 of 2 numbers/],
    ['batchId=first', `contact\n${numberOf(7)}\n`, 409, 'BATCH_CONFLICT', /another list/],
    ['', '', 422, 'SOURCE_INVALID', /empty/],
    ['batchId=none', 'contact\n+82\n', 422, 'SOURCE_INVALID', /all rejected: row 2: .* plus sign/],
    ['rate=0', `contact\n${numberOf(5)}\n`, 400, 'REQUEST_INVALID', /rate/],
    ['map=contact', `contact\n${numberOf(5)}\n`, 400, 'REQUEST_INVALID', /field=column/],
    ['again=true&onlyNew=true', `contact\n${numberOf(5)}\n`, 422, 'NOTICE_INVALID', /onlyNew/],
    ['', '{}', 415, 'REQUEST_INVALID', /text\/csv/, 'application/json'],
  ];
  for (const [query, list, status, code, detail, type] of table) {
    const reply = await send(encodeURI(query).replaceAll('%25', '%'), list, type);
    expect([query, reply.status, reply.json['code']]).toEqual([query, status, code]);
    expect(reply.json['detail']).toMatch(detail);
  }
  const onlyNew = await send('onlyNew=true', `contact\n${numberOf(2)}\n${numberOf(3)}\n`);
  expect(onlyNew.json).toMatchObject({ contacts: 1, repeated: 1 });
  expect((await server.operator().then((one) => one.get(PATH))).json).toMatchObject({ total: 2 });
});

it('a refused list is answered while its body still arrives', async () => {
  const { open } = await bench();
  const call = open('');
  const answer = answerOf(call);
  call.write(`contact\n${'010\n'.repeat(2_000)}`);
  expect(await answer).toMatchObject({ status: 422, json: { code: 'SOURCE_INVALID' } });
  call.destroy();
});

it('a connection that is cut anywhere leaves an import that the same request continues', async () => {
  const { server, open, send } = await bench();
  const list = `contact,var1\n${rows(30_000)}`;
  for (let round = 0; round < 4; round++) {
    const at = Math.floor(Math.random() * list.length);
    const call = open('batchId=cut&chunkSize=100&paused=true');
    call.write(list.slice(0, at));
    // Some of it has arrived.
    await until(() => server.context.imports.running === 1, { what: 'the import' });
    call.destroy();
    await until(() => server.context.imports.running === 0, { what: `its end (cut at ${at})` });
    const batch = await server.context.ledger.read('cut');
    expect([at, batch?.counts.total]).toEqual([at, batch?.counts.pending]);
  }
  const reply = await send('batchId=cut&chunkSize=100&paused=true', list);
  expect([reply.status, reply.json['contacts'], reply.json['rows']]).toEqual([200, 30_000, 30_000]);
  const batch = await server.context.ledger.read('cut');
  expect(batch?.counts).toMatchObject({ total: 30_000, pending: 30_000 });
  expect(await sentTo(server, 'cut')).toEqual(
    Array.from({ length: 30_000 }, (_, index) => numberOf(index)),
  );
}, 60_000);

it('two lists are imported at a time, and a third is told to come again', async () => {
  const { server, open, send } = await bench();
  const calls = ['a', 'b'].map((id) => open(`batchId=${id}`));
  for (const call of calls) call.write('contact\n');
  await until(() => server.context.imports.running === 2, { what: 'two imports' });
  const third = await send('batchId=c', `contact\n${numberOf(1)}\n`);
  expect([third.status, third.json]).toEqual([
    429,
    expect.objectContaining({ code: 'TOO_MANY_REQUESTS', retryAfter: 10 }),
  ]);
  for (const call of calls) call.destroy();
  await until(() => server.context.imports.running === 0, { what: 'their end' });
  expect((await send('batchId=c', `contact\n${numberOf(1)}\n`)).status).toBe(200);
});

it('a body of which nothing comes is cut off; time in which it is not read does not count', async () => {
  const body = new PassThrough();
  body.write('contact\n');
  const pieces = readableOf(body, 50).iterator();
  expect(String((await pieces.next()).value)).toBe('contact\n');
  await expect(pieces.next()).rejects.toThrow('silent');
});
