import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startRedisServer } from '../../../scripts/redis/redis-server.ts';
import { readAudit } from '../../../src/ops/audit.ts';
import { SHARE_A_DAY } from '../../../src/ops/web/access/audit-shares.ts';
import { testRedis } from '../../support/redis.ts';
import { expectDocumented, startOps, type OpsBench } from './support/ops-bench.ts';

const redis = testRedis();
const DAY_S = 86_400;

const bench = () => startOps(redis.url, redis.freshPrefix(), { FIND_KEY: '6'.repeat(64) });

/** As after so many actions of a caller that so many are left. */
async function use({ context }: OpsBench, kind: 'changes' | 'reads', who: string, left = 0) {
  await redis.client.hset(context.keys.auditShares, `${kind} ${who}`, SHARE_A_DAY - left);
}

const audited = ({ context }: OpsBench) => readAudit(context.redis, context.keys, 100);

describe('an operator who made the changes of a day', () => {
  it('makes no further one, and displaces no entry of others', async () => {
    const server = await bench();
    const otto = await server.operator();
    await use(server, 'changes', 'otto', 1);
    const place = () => otto.post('/api/v1/hold/place', { why: 'flood' });
    expect((await place()).status).toBe(200);
    const lift = await otto.post('/api/v1/hold/lift', { why: 'flood' });
    expectDocumented('POST', '/api/v1/hold/lift', lift);
    expect(lift.json).toMatchObject({ code: 'TOO_MANY_REQUESTS', status: 429 });
    expect(String(lift.json['detail'])).toContain('10,000 changes');
    expect(Number(lift.headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(lift.headers['retry-after'])).toBeLessThanOrEqual(DAY_S);
    expect((await otto.get('/api/v1/hold')).json).toMatchObject({ hold: { kind: 'manual' } });
    expect(await audited(server)).toHaveLength(1);
    await place();
    const logged = server.lines.filter(({ event }) => event === 'ops-audit-share');
    expect(logged).toMatchObject([{ who: 'otto', kind: 'changes' }]);
  });

  it('reads, downloads and signs out as before, and others make changes', async () => {
    const server = await bench();
    const otto = await server.operator();
    await use(server, 'changes', 'otto');
    expect((await otto.get('/api/v1/unknown.csv')).status).toBe(200);
    const place = await server.key('operator').post('/api/v1/hold/place', { why: 'another' });
    expect(place.status).toBe(200);
    expect((await otto.post('/sign-out')).status).toBe(303);
  });

  it('makes changes again on the next day', async () => {
    const server = await bench();
    const otto = await server.operator();
    const { redis: client, keys } = server.context;
    await use(server, 'changes', 'otto', 1);
    const place = () => otto.post('/api/v1/hold/place', { why: 'x' });
    expect([(await place()).status, (await place()).status]).toEqual([200, 429]);
    const endsIn = await client.pttl(keys.auditShares);
    const leftMs = 1_000 * DAY_S - (Date.now() % (1_000 * DAY_S));
    expect(Math.abs(endsIn - leftMs)).toBeLessThan(10_000);
    await client.pexpire(keys.auditShares, 0);
    expect((await place()).status).toBe(200);
    expect(await client.hgetall(keys.auditShares)).toEqual({ 'changes otto': '1' });
  });
});

describe('a caller who made the searches and downloads of a day', () => {
  it('searches no further, in no way, and others do', async () => {
    const server = await bench();
    const vera = await server.viewer();
    await use(server, 'reads', 'vera');
    const number = '01012345678';
    for (const path of ['/api/v1/find', '/find', '/api/v1/unknown/preview', '/unknown']) {
      const reply = await vera.post(path, { number });
      expect([path, reply.status]).toEqual([path, 429]);
    }
    expect(await audited(server)).toEqual([]);
    expect((await vera.post('/api/v1/unknown/preview', { code: 'X' })).status).toBe(200);
    expect((await server.key('viewer').post('/api/v1/find', { number })).status).toBe(200);
  });

  it('downloads no further, and decides by number no more', async () => {
    const server = await bench();
    const otto = await server.operator();
    await use(server, 'reads', 'otto');
    for (const path of ['/api/v1/unknown.csv', '/api/v1/failed-notices.csv?state=rejected']) {
      const reply = await otto.get(path);
      expect([path, reply.status]).toEqual([path, 429]);
    }
    const byNumber = { as: 'discard', number: '01012345678', why: 'asked' };
    expect((await otto.post('/api/v1/unknown/resolve', byNumber)).status).toBe(429);
    expect(await audited(server)).toEqual([]);
  });
});

it('a program that cancelled as often cancels on; its cancellations are not recorded one by one', async () => {
  const server = await bench();
  const shop = server.key('sender');
  await use(server, 'changes', 'key:shop', 1);
  const cancelOne = async () => {
    const notice = { templateCode: 'T', contacts: [{ contact: '01012345678' }] };
    const { id } = await server.context.notices.send(notice, { delay: 3_600_000 });
    return shop.post(`/api/v1/notices/${id}/cancel`, { why: 'off' });
  };
  // What cancels nothing does not count.
  await shop.post('/api/v1/notices/n-none/cancel', { why: 'off' });
  expect((await cancelOne()).json).toMatchObject({ cancelled: true });
  expect((await cancelOne()).json).toMatchObject({ cancelled: true });
  expect(await audited(server)).toHaveLength(1);
});

it('an operator lifts the hold of a Redis that is out of memory, and it is recorded', async () => {
  const full = await startRedisServer();
  onTestFinished(() => full.close());
  const server = await startOps(full.url, 'full');
  const operator = server.key('operator');
  expect((await operator.post('/api/v1/hold/place', { why: 'x' })).status).toBe(200);
  const admin = new Redis(full.url);
  await admin.config('SET', 'maxmemory', '1');
  admin.disconnect();
  const lift = await operator.post('/api/v1/hold/lift', { why: 'it is full' });
  expect([lift.status, lift.json]).toEqual([200, { lifted: 'manual' }]);
  const deletion = await operator.post('/api/v1/failed-notices/delete', { why: 'it is full' });
  expect([deletion.status, deletion.json['detail']]).toEqual([200, undefined]);
  expect(await audited(server)).toMatchObject([{ as: 'lifted manual' }, { as: 'placed' }]);
});
