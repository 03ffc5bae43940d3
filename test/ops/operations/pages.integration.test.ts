import { expect, it } from 'vitest';
import { isChange, type Operation } from '../../../src/ops/operations/operation.ts';
import { OPERATIONS, type OperationName } from '../../../src/ops/operations/operations.ts';
import { readAudit } from '../../../src/ops/audit.ts';
import { testRedis } from '../../support/redis.ts';
import { startOps, type Caller } from '../web/support/ops-bench.ts';
import { filledAccount } from './support/account.ts';

/*
 * Every operation by page: what a page shows, or the form with which it changes something. A new operation is one row here.
 */

/** The page, and what its reader fills in; or why no page has it. */
type OnPage =
  | { readonly page: string; readonly fields?: Readonly<Record<string, string>> }
  | { readonly none: string };

/** In an order in which each has something to do after those before it. `n-one` is the id of a notice. */
const PAGES: { readonly [Name in OperationName]: OnPage } = {
  status: { page: '/' },
  'hold place': { page: '/' },
  'hold show': { page: '/' },
  'hold lift': { page: '/' },
  'rate-limit show': { page: '/' },
  'rate-limit set': { page: '/', fields: { rateLimit: '50' } },
  audit: { page: '/audit' },
  'sessions list': { page: '/audit' },
  show: { page: '/notices/n-one' },
  'show by key': { none: 'a key is known to programs' },
  find: { page: '/find' },
  'cancel one': { page: '/notices/n-one' },
  'cancel by key': { none: 'a key is known to programs' },
  'events list': { none: 'events are for programs' },
  'events replay': { none: 'events are for programs' },
  'restored show': { page: '/restored' },
  'restored park': { none: 'its form is there after a restore alone (test/browser)' },
  waiting: { page: '/waiting' },
  cancel: { page: '/waiting' },
  batches: { page: '/batches' },
  batch: { page: '/batches/b' },
  pause: { page: '/batches/b' },
  resume: { page: '/batches/b' },
  rate: { page: '/batches/b', fields: { rate: '50' } },
  'batch results': { none: 'a file for the sender of the list: `notices results`' },
  'batch cancel': { page: '/batches/b' },
  failures: { page: '/notices' },
  'failures preview': { page: '/notices' },
  decide: { page: '/notices', fields: { as: 'discard' } },
  erase: { none: 'erased on request of a person, by command or program' },
  'suppress add': { none: 'by the opt-out link of an application, or by command' },
  'suppress check': { none: 'with the command' },
  'suppress remove': { none: 'with the command' },
  'sessions end': { page: '/audit' },
};

const redis = testRedis();
const findKey = Buffer.alloc(32, 7).toString('base64');
const HTML = { accept: 'text/html' };
const rowOf = (name: OperationName) =>
  OPERATIONS.find((row) => row.name === name) as unknown as Operation;

/** The fields of the form of an operation, as the page has filled them in. */
function formOf(page: string, row: Operation): { path: string; fields: URLSearchParams } {
  const pattern = row.path.replaceAll(/:\w+/g, '[^/"]+');
  const found = new RegExp(`action="(${pattern})">([^]*?)</form>`).exec(page);
  const [, path = 'no form', form = ''] = found ?? [];
  const fields = new URLSearchParams();
  for (const [, name = '', value = ''] of form.matchAll(
    /<input type="hidden" name="(\w+)" value="([^"]*)"/g,
  ))
    fields.append(name, value.replaceAll('&amp;', '&'));
  return { path, fields };
}

async function openPage(caller: Caller, path: string): Promise<string> {
  const { status, text } = await caller.get(path, HTML);
  expect([path, status]).toEqual([path, 200]);
  return text;
}

it('every operation is on a page, which runs it, says what was done and records why', async () => {
  const { prefix, keys, id } = await filledAccount(redis, findKey);
  const server = await startOps(redis.url, prefix, { FIND_KEY: findKey });
  const operator = await server.operator();
  // Without the header of a script: a form has the token of the session in a field.
  const { cookie = '' } = operator.headers;
  for (const [name, on] of Object.entries(PAGES) as [OperationName, OnPage][]) {
    if ('none' in on) continue;
    const row = rowOf(name);
    const at = on.page.replace('n-one', id);
    const page = await openPage(operator, at);
    if (!isChange(row)) continue;
    const why = `tried ${name}`;
    const { path, fields } = formOf(page, row);
    for (const [field, value] of Object.entries(on.fields ?? {})) fields.set(field, value);
    fields.set('why', why);
    const reply = await server.ask(path, {
      method: 'POST',
      headers: { ...HTML, cookie },
      body: fields.toString(),
    });
    expect([name, path, reply.status, reply.text]).toMatchObject([name, path, 303, '']);
    expect([name, String(reply.headers['set-cookie'])]).toEqual([
      name,
      expect.stringContaining('notices-said='),
    ]);
    const recorded = (await readAudit(redis.client, keys, 3)).map((entry) => entry.why);
    expect([name, recorded]).toEqual([name, expect.arrayContaining([why])]);
  }
});
