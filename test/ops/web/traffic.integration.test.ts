import { expect, it } from 'vitest';
import { TrafficTally } from '../../../src/traffic/traffic.ts';
import { testRedis } from '../../support/redis.ts';
import { expectDocumented, startOps } from './support/ops-bench.ts';

const redis = testRedis();

it('the API has the traffic of three hours in minutes', async () => {
  const server = await startOps(redis.url, redis.freshPrefix());
  const viewer = await server.viewer();
  const tally = new TrafficTally();
  const sent = { lane: 'chunks', contacts: 500, requests: 1 } as const;
  tally.attempt({ ...sent, outcome: 'accepted' });
  tally.attempt({ ...sent, outcome: 'unknown' });
  const [seconds] = await redis.client.time();
  await tally.write(redis.client, server.context.keys, Number(seconds) * 1_000);
  const reply = await viewer.get('/api/v1/traffic');
  expect(reply.status).toBe(200);
  expectDocumented('GET', '/api/v1/traffic', reply);
  expect(reply.json['minutes']).toHaveLength(180);
  expect(reply.json['total']).toMatchObject({
    notices: { requests: 0, accepted: 0 },
    chunks: { requests: 2, accepted: 500 },
  });
});

it('metrics need a key', async () => {
  const server = await startOps(redis.url, redis.freshPrefix());
  const reply = await server.key('viewer').get('/metrics');
  expect(reply.status).toBe(200);
  expect(reply.headers['content-type']).toMatch(/^text\/plain; version=/);
  expect(reply.text).toContain('notices_redis_up 1');
  expect((await server.nobody.get('/metrics')).status).toBe(401);
});
