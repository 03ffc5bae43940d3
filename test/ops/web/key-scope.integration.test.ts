import { describe, expect, it, onTestFinished } from 'vitest';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { newApiKey } from '../../../src/ops/web/access/accounts.ts';
import { run } from '../../cli/support/run.ts';
import { testRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { expectDocumented, startOps, type Reply } from './support/ops-bench.ts';

const redis = testRedis();
const PATH = '/api/v1/notices';
const to = (contact: string) => ({ templateCode: 'T', contacts: [{ contact }] });
const NOTICE = to('01000000001');
const OTHER = to('01000000002');

/** A server with two senders; one of them has two keys, one to replace the other. */
async function bench(prefix = redis.freshPrefix()) {
  const keys = {
    shop: newApiKey('shop', 'sender'),
    shopAnew: newApiKey('shop', 'sender'),
    club: newApiKey('club', 'sender'),
    watch: newApiKey('watch', 'viewer'),
  };
  const OPS_API_KEYS = Object.values(keys)
    .map(({ entry }) => entry)
    .join(',');
  const server = await startOps(redis.url, prefix, { OPS_API_KEYS });
  const as = (name: keyof typeof keys) => {
    const authorization = `Bearer ${keys[name].key}`;
    const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
      const all = { authorization, ...headers };
      const reply = await server.ask(path, { method: 'POST', headers: all, body });
      expectDocumented('POST', path, reply);
      return reply;
    };
    const get = async (query: string) => {
      const reply = await server.ask(`${PATH}?${query}`, { headers: { authorization } });
      expectDocumented('GET', PATH, reply);
      return reply;
    };
    const send = (notice: unknown, key: string) =>
      post(PATH, { notice }, { 'idempotency-key': key });
    return { post, get, send };
  };
  const library = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
  onTestFinished(() => library.close());
  return { server, as, library, prefix };
}

const idOf = ({ json }: Reply) => json['id'];

describe('idempotency keys over HTTP', () => {
  it('of two API keys do not meet: neither sees the receipt of the other, nor a conflict', async () => {
    const { as, server } = await bench();
    const first = await as('shop').send(NOTICE, 'order-1');
    const same = await as('club').send(NOTICE, 'order-1');
    expect([first.status, same.status]).toEqual([202, 202]);
    expect(idOf(same)).not.toBe(idOf(first));
    const other = await as('club').send(OTHER, 'order-1');
    expect(other).toMatchObject({ status: 409, json: { code: 'IDEMPOTENCY_CONFLICT' } });
    expect(await as('club').send(NOTICE, 'order-1')).toMatchObject({
      status: 200,
      json: { id: idOf(same), duplicate: true },
    });
    // A key that replaces another one has its name.
    expect(idOf(await as('shopAnew').send(NOTICE, 'order-1'))).toBe(idOf(first));
    const option = { notice: NOTICE, options: { idempotencyKey: 'order-1' } };
    expect(idOf(await as('shop').post(PATH, option))).toBe(idOf(first));
    expect(await server.context.sendQueue.count()).toBe(2);
  });

  it('do not meet those of the library, which stay as they are', async () => {
    const { as, library } = await bench();
    const own = await library.send(NOTICE, { idempotencyKey: 'order-1' });
    const sent = await as('shop').send(OTHER, 'order-1');
    expect(sent.status).toBe(202);
    expect((await library.get({ idempotencyKey: 'order-1' })).id).toBe(own.id);
    expect((await library.send(NOTICE, { idempotencyKey: 'order-1' })).duplicate).toBe(true);
  });

  it('find and cancel the notice of their own API key only', async () => {
    const { as, server } = await bench();
    const sent = await as('shop').send(NOTICE, 'order-1');
    expect(idOf(await as('shop').get('idempotencyKey=order-1'))).toBe(idOf(sent));
    const none = await as('club').get('idempotencyKey=order-1');
    expect(none.json).toMatchObject({ id: '', state: 'not-kept' });
    const foreign = await as('club').get('idempotencyKey=order-1&apiKey=shop');
    expect(foreign).toMatchObject({ status: 400, json: { issues: [{ field: 'apiKey' }] } });
    const body = { idempotencyKey: 'order-1', why: 'a test' };
    const cancel = `${PATH}/cancel`;
    expect((await as('club').post(cancel, body)).json).toMatchObject({ cancelled: false });
    const named = await as('club').post(cancel, { ...body, apiKey: 'shop' });
    expect(named).toMatchObject({ status: 400, json: { issues: [{ field: 'apiKey' }] } });

    const viewer = await as('watch').get('idempotencyKey=order-1&apiKey=shop');
    expect(viewer.json).toMatchObject({ id: idOf(sent), state: 'pending' });
    expect((await as('watch').get('idempotencyKey=order-1')).json['state']).toBe('not-kept');
    const page = await (await server.viewer()).get('/notices?id=order-1', { accept: 'text/html' });
    expect(page.text).toContain(String(idOf(sent)));
    expect((await as('shop').post(cancel, { ...body, apiKey: 'shop' })).json).toMatchObject({
      cancelled: true,
    });
  });

  it('are named with the API key on the command line', async () => {
    const { as, prefix } = await bench();
    const sent = await as('shop').send(NOTICE, 'order-1');
    const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
    const byKey = ['--key', 'order-1', '--api-key'];
    const shown = await run(['show', ...byKey, 'shop', '--json'], env);
    expect(JSON.parse(shown.stdout)).toMatchObject({ id: idOf(sent), state: 'pending' });
    expect((await run(['show', ...byKey, 'club'], env)).code).toBe(1);
    expect((await run(['show', '--key', 'order-1'], env)).code).toBe(1);
    const alone = await run(['show', String(idOf(sent)), '--api-key', 'shop'], env);
    expect([alone.code, alone.stderr]).toEqual([2, 'USAGE: --api-key: leave it out here\n']);
    const cancelled = await run(['cancel', ...byKey, 'shop', '--json'], env);
    expect(JSON.parse(cancelled.stdout)).toMatchObject({ id: idOf(sent), cancelled: true });
  });
});
