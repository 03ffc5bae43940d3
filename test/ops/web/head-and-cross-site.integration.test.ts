import { expect, it } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import { startOps } from './support/ops-bench.ts';

const redis = testRedis();

it('load balancers may ask for the health with HEAD', async () => {
  const ops = await startOps(redis.url, redis.freshPrefix());
  for (const path of ['/livez', '/readyz']) {
    const { status, text } = await ops.ask(path, { method: 'HEAD' });
    expect([path, status, text]).toEqual([path, 200, '']);
  }
});

it('a page of another site makes nobody behind a proxy download', async () => {
  const ops = await startOps(redis.url, redis.freshPrefix(), {
    OPS_TRUSTED_PROXY: '127.0.0.1',
    OPS_USER_HEADER: 'X-User',
    OPS_ROLE_HEADER: 'X-Role',
    OPS_HOST_NAMES: '127.0.0.1',
  });
  const by = { 'x-user': 'kim', 'x-role': 'operator', 'x-forwarded-proto': 'https' };
  const from = (site: string) => ({ headers: { ...by, 'sec-fetch-site': site } });
  for (const path of ['/api/v1/unknown.csv', '/queues/api/queues']) {
    const { status, json } = await ops.ask(path, from('cross-site'));
    expect([path, status, json['code']]).toEqual([path, 403, 'CROSS_SITE']);
  }
  expect((await ops.ask('/api/v1/status', from('same-origin'))).status).toBe(200);
  expect((await ops.ask('/batches', from('cross-site'))).status).toBe(200);
});

it('https is what the browser uses, whatever follows in the chain of proxies', async () => {
  const ops = await startOps(redis.url, redis.freshPrefix(), {
    OPS_TRUSTED_PROXY: '127.0.0.1',
    OPS_HOST_NAMES: '127.0.0.1',
  });
  const chained = await ops.ask('/sign-in', { headers: { 'x-forwarded-proto': 'https,http' } });
  expect(chained.headers['strict-transport-security']).toContain('max-age');
  const plain = await ops.ask('/sign-in', { headers: { 'x-forwarded-proto': 'http' } });
  expect(plain.headers['strict-transport-security']).toBeUndefined();
});
