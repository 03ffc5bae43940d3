import { describe, expect, it } from 'vitest';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { onTestFinished } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { expectDocumented, startOps } from './support/ops-bench.ts';

const redis = testRedis();
const PATH = '/api/v1/notices';

const notice = (contact = '01000000001') => ({
  templateCode: 'ORDER_SHIPPED',
  contacts: [{ contact, var1: 'Kim' }],
});

async function bench(env: Record<string, string> = {}) {
  const prefix = redis.freshPrefix();
  const server = await startOps(redis.url, prefix, env);
  const shop = server.key('sender');
  const send = async (body: unknown, headers: Record<string, string> = {}) => {
    const reply = await shop.post(PATH, body, headers);
    expectDocumented('POST', PATH, reply);
    return reply;
  };
  return { prefix, server, shop, send };
}

describe('a notice over HTTP', () => {
  it('is queued with the receipt of the library', async () => {
    const { prefix, server, send } = await bench();
    const reply = await send({ notice: notice() });
    expect(reply).toMatchObject({ status: 202, json: { contacts: 1, duplicate: false } });
    const { id } = reply.json as { id: string };
    const job = await server.context.sendQueue.getJob(id);
    expect(job?.data).toMatchObject({ v: 1, notice: { templateCode: 'ORDER_SHIPPED' } });

    const library = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
    onTestFinished(() => library.close());
    const receipt = await library.send(notice());
    expect(Object.keys(receipt).sort()).toEqual(Object.keys(reply.json).sort());
    expect(id.length).toBe(receipt.id.length);
  });

  it('is sent once under one key, whether a header or an option says it', async () => {
    const { send, server } = await bench();
    const first = await send({ notice: notice() }, { 'idempotency-key': 'order-1' });
    expect(first.status).toBe(202);
    for (const again of [
      await send({ notice: notice() }, { 'idempotency-key': '"order-1"' }),
      await send({ notice: notice(), options: { idempotencyKey: 'order-1' } }),
    ]) {
      expect(again).toMatchObject({ status: 200, json: { duplicate: true, id: first.json['id'] } });
    }
    const other = await send({ notice: notice('01000000002') }, { 'idempotency-key': 'order-1' });
    expect(other).toMatchObject({ status: 409, json: { code: 'IDEMPOTENCY_CONFLICT' } });
    const both = await send(
      { notice: notice(), options: { idempotencyKey: 'order-2' } },
      { 'idempotency-key': 'order-1' },
    );
    expect(both).toMatchObject({ status: 400, json: { issues: [{ field: 'Idempotency-Key' }] } });
    // Node writes each character of a header as one byte.
    const header = Buffer.from('주문-1').toString('latin1');
    const korean = await send({ notice: notice() }, { 'idempotency-key': header });
    const again = await send({ notice: notice(), options: { idempotencyKey: '주문-1' } });
    expect(again).toMatchObject({ status: 200, json: { duplicate: true, id: korean.json['id'] } });
    expect(await server.context.sendQueue.count()).toBe(2);
  });

  it('that is wrong is refused with every field, and without its values', async () => {
    const { send, server } = await bench();
    const wrong = { templateCode: '', contacts: [{ contact: '+82-10-1234-5678', var1: 7 }] };
    const reply = await send({ notice: wrong, options: { delay: -1 } });
    expect(reply).toMatchObject({ status: 422, json: { code: 'NOTICE_INVALID' } });
    const { issues } = reply.json as { issues: { field: string }[] };
    expect(issues.map(({ field }) => field)).toContain('options.delay');
    const both = await send({ notice: wrong });
    const named = (both.json as { issues: { field: string }[] }).issues.map(({ field }) => field);
    expect(named).toEqual(['templateCode', 'contacts[0].contact', 'contacts[0].var1']);
    expect(both.text).not.toContain('5678');
    expect(both.headers['content-type']).toBe('application/problem+json; charset=utf-8');
    for (const body of [{}, { notice: null }, { notice: notice(), options: 7 }, [], { note: 1 }]) {
      expect((await send(body)).status).toBeGreaterThanOrEqual(400);
    }
    expect(await server.context.sendQueue.count()).toBe(0);
  });

  it('in a body that cannot be read is refused in plain words, with the limit of its route', async () => {
    const { server, shop } = await bench({ OPS_MAX_BODY_BYTES: '2000' });
    const raw = async (type: string, body: string) =>
      server.ask(PATH, {
        method: 'POST',
        headers: { ...shop.headers, 'content-type': type },
        body,
      });
    const large = await shop.post(PATH, { notice: { ...notice(), memo: 'x'.repeat(2_000) } });
    expect(large.json['detail']).toContain('4 MiB for notices, 64 KiB for all others');
    for (const [status, reply] of [
      [413, large],
      [415, await raw('text/plain', 'x')],
      [400, await raw('application/json', '{"notice":')],
      [400, await raw('application/json', '{"__proto__":{"x":1}}')],
    ] as const) {
      expect([reply.status, reply.json['code']]).toEqual([status, 'REQUEST_INVALID']);
      expect(reply.text).not.toContain('node_modules');
    }
    const operator = await server.operator();
    const why = 'looked it up';
    const decide = async (count: number) => {
      const ids = Array.from({ length: count }, (_, index) => `${index}-${'x'.repeat(190)}`);
      return (await operator.post('/api/v1/failures/decide', { as: 'accepted', ids, why })).status;
    };
    // More than the limit of notices, which is not the limit here.
    expect([await decide(100), await decide(400)]).toEqual([200, 413]);
  });

  it('comes no faster than it may, by key', async () => {
    const { send, server } = await bench({ OPS_NOTICES_PER_MINUTE: '3' });
    for (let sent = 0; sent < 3; sent++)
      expect((await send({ notice: notice() })).status).toBe(202);
    const reply = await send({ notice: notice() });
    expect(reply).toMatchObject({ status: 429, json: { code: 'TOO_MANY_REQUESTS' } });
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
    expect(reply.json['retryAfter']).toBe(Number(reply.headers['retry-after']));
    expect(await server.context.sendQueue.count()).toBe(3);
  });
});
