import { describe, expect, it } from 'vitest';
import { countAttempt, noCounts } from '../../../src/traffic/counters.ts';
import { addCounts } from '../../../src/traffic/tally.ts';
import { testRedis } from '../../support/redis.ts';
import { expectDocumented, startOps } from './support/ops-bench.ts';

const redis = testRedis();

async function bench() {
  const server = await startOps(redis.url, redis.freshPrefix());
  const counts = noCounts();
  const sent = { lane: 'chunks', contacts: 500, requests: 1, answerMs: 40 } as const;
  countAttempt(counts, { ...sent, outcome: 'accepted' });
  countAttempt(counts, { ...sent, outcome: 'unknown' });
  const commands = redis.client.multi();
  const [seconds] = await redis.client.time();
  addCounts(commands, server.context.keys, counts, Number(seconds) * 1_000);
  await commands.exec();
  return { server, viewer: await server.viewer() };
}

describe('the traffic', () => {
  it.each([
    [1, 1],
    [180, 180],
    [181, 91],
    [2_880, 180],
  ])('of %d minutes comes in %d points', async (minutes, points) => {
    const { viewer } = await bench();
    const path = `/api/v1/traffic?minutes=${minutes}`;
    const reply = await viewer.get(path);
    expect(reply.status).toBe(200);
    expectDocumented('GET', path, reply);
    const { series } = reply.json as { series: readonly unknown[] };
    // The moment itself may stand in one minute more than were asked for.
    expect([points, points + 1]).toContain(series.length);
  });

  it('tells what was sent, and how long the answers took', async () => {
    const { viewer } = await bench();
    const { json } = await viewer.get('/api/v1/traffic?minutes=60');
    expect(json['total']).toMatchObject({
      requests: 2,
      attempts: { accepted: 1, unknown: 1, rejected: 0 },
      contacts: { accepted: 500, unknown: 500 },
      answerMs: { count: 2 },
    });
  });

  it.each(['0', '2881', 'all', '-1'])('goes back no %s minutes', async (minutes) => {
    const { viewer } = await bench();
    expect((await viewer.get(`/api/v1/traffic?minutes=${minutes}`)).status).toBe(400);
  });
});

it('metrics need a key', async () => {
  const { server } = await bench();
  const reply = await server.key('viewer').get('/metrics');
  expect(reply.status).toBe(200);
  expect(reply.headers['content-type']).toMatch(/^text\/plain; version=/);
  expect(reply.text).toContain('notices_redis_up 1');
  expect((await server.nobody.get('/metrics')).status).toBe(401);
});
