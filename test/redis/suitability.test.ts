import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Redis } from 'ioredis';
import { startRedisServer, type RedisServer } from '../../scripts/redis/redis-server.ts';
import { readRedisFacts, requireSuitable, unsuitable } from '../../src/redis/suitability.ts';

describe('unsuitable', () => {
  it.each([
    ['7.0.15', 'noeviction', 0],
    ['6.2.0', 'noeviction', 0],
    ['10.0.1', 'noeviction', 0],
    ['6.0.16', 'noeviction', 1],
    ['5.9.9', 'allkeys-lru', 2],
    ['8.0.0', 'volatile-ttl', 1],
    // A server that does not say is not refused for it.
    ['8.0.0', '', 0],
  ])('Redis %s with %s: %i problems', (version, policy, problems) => {
    expect(unsuitable({ version, policy })).toHaveLength(problems);
  });
});

describe('a Redis that would lose notices', () => {
  let server: RedisServer;
  let redis: Redis;

  beforeAll(async () => {
    server = await startRedisServer({ args: ['--maxmemory-policy', 'allkeys-lru'] });
    redis = new Redis(server.url);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.close();
  });

  it('is refused, with what to set; once mended it is taken', async () => {
    await expect(requireSuitable(redis)).rejects.toMatchObject({
      code: 'REDIS_UNSUITABLE',
      message: expect.stringMatching(/allkeys-lru.*noeviction/s) as unknown,
    });
    await redis.config('SET', 'maxmemory-policy', 'noeviction');
    expect(await requireSuitable(redis)).toEqual(await readRedisFacts(redis));
  });
});
