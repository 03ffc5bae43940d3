import { Redis } from 'ioredis';
import { afterAll, describe, expect, it } from 'vitest';
import { factsFrom, readRedisFacts, type RedisFacts } from '../../src/redis/facts.ts';
import { judgeRedis, requireSuitable, type RedisRules } from '../../src/redis/suitability.ts';
import { ownRedis } from '../support/own-redis.ts';

const RULES: RedisRules = { persistence: 'warn', memoryHeadroom: 10 };

const GOOD: RedisFacts = {
  version: '7.0.15',
  policy: 'noeviction',
  persistence: 'aof',
  saveFailed: false,
  usedBytes: 50,
  maxBytes: 100,
  machineBytes: 1_000,
  role: 'master',
};

const REQUIRE = { persistence: 'require' } as const;
const HIDDEN = { version: '', policy: '', persistence: 'unknown', role: 'unknown' } as const;

describe('judgeRedis', () => {
  it.each<[string, Partial<RedisFacts>, Partial<RedisRules>, string[]]>([
    ['nothing to find', {}, {}, []],
    ['ten is newer than six', { version: '10.0.1' }, {}, []],
    ['too old', { version: '6.0.16' }, {}, ['refuse too-old']],
    ['evicts', { policy: 'volatile-ttl' }, {}, ['refuse evicts']],
    ['a replica', { role: 'replica' }, {}, ['refuse replica']],
    ['nothing on disk', { persistence: 'none' }, {}, ['warn not-persistent']],
    ['nothing on disk, required', { persistence: 'none' }, REQUIRE, ['refuse not-persistent']],
    ['nothing on disk, ignored', { persistence: 'none' }, { persistence: 'ignore' }, []],
    ['snapshots', { persistence: 'rdb' }, {}, ['warn snapshots-only']],
    ['a failed save', { saveFailed: true }, {}, ['warn save-failed']],
    ['a failed save, required', { saveFailed: true }, REQUIRE, ['refuse save-failed']],
    ['just enough memory', { usedBytes: 90 }, {}, []],
    ['too little memory', { usedBytes: 91 }, {}, ['warn memory']],
    ['full, and not required', { usedBytes: 100 }, { memoryHeadroom: 0 }, []],
    ['no bound on memory', { usedBytes: 120, maxBytes: 0 }, {}, []],
    // A managed service that does not say is refused for it only where it is required.
    ['hidden', HIDDEN, {}, []],
    ['hidden, required', HIDDEN, REQUIRE, ['refuse persistence-unknown']],
  ])('%s', (_name, facts, rules, expected) => {
    const found = judgeRedis({ ...GOOD, ...facts }, { ...RULES, ...rules });
    expect(found.map(({ severity, code }) => `${severity} ${code}`)).toEqual(expected);
    for (const { words, remedy } of found)
      expect(`${words}; ${remedy}`).toMatch(/^\S.+; \S.+[\w)]$/);
  });
});

/** No append-only file, and how long the last snapshot took. */
const OFF = 'aof_enabled:0\r\nrdb_last_bgsave_time_sec:';

describe('factsFrom', () => {
  it.each<[string, string, string | undefined, Partial<RedisFacts>]>([
    ['an append-only file', 'aof_enabled:1', undefined, { persistence: 'aof' }],
    ['snapshots', 'aof_enabled:0', '3600 1', { persistence: 'rdb' }],
    ['neither', 'aof_enabled:0', '', { persistence: 'none' }],
    ['CONFIG is denied', 'aof_enabled:0', undefined, { persistence: 'unknown' }],
    ['no CONFIG, no snapshot yet', `${OFF}0\r\nrdb_saves:0`, undefined, { persistence: 'unknown' }],
    ['no CONFIG, a snapshot', `${OFF}-1\r\nrdb_saves:1`, undefined, { persistence: 'rdb' }],
    ['no CONFIG, a snapshot of an older Redis', `${OFF}0`, undefined, { persistence: 'rdb' }],
    ['nothing is said', '', '', { persistence: 'unknown', role: 'unknown', maxBytes: 0 }],
    ['a failed write', 'aof_last_write_status:err', '', { saveFailed: true }],
    ['a failed snapshot', 'rdb_last_bgsave_status:err', '', { saveFailed: true }],
    ['a replica', 'role:slave\r\n', '', { role: 'replica' }],
    [
      'memory',
      'used_memory:7\r\nmaxmemory:9\r\nmaxmemory_human:9B\r\ntotal_system_memory:11',
      '',
      { usedBytes: 7, maxBytes: 9, machineBytes: 11 },
    ],
  ])('%s', (_name, info, snapshots, expected) => {
    expect(factsFrom(info, snapshots)).toMatchObject(expected);
  });
});

describe('a Redis', async () => {
  const { server, client: redis } = await ownRedis(
    { args: ['--maxmemory-policy', 'allkeys-lru'] },
    afterAll,
  );

  it('that would lose notices is refused, with what to set; once fixed it is accepted', async () => {
    await expect(requireSuitable(redis, RULES)).rejects.toMatchObject({
      code: 'REDIS_UNSUITABLE',
      message: expect.stringMatching(/allkeys-lru.*noeviction/s) as unknown,
    });
    await redis.config('SET', 'maxmemory-policy', 'noeviction');
    const found = await requireSuitable(redis, RULES);
    expect(found.map(({ code }) => code)).toEqual(['not-persistent']);
    await expect(
      requireSuitable(redis, { ...RULES, persistence: 'require' }),
    ).rejects.toMatchObject({ message: expect.stringContaining('appendonly') as unknown });
  });

  it('says what it keeps, how much memory it has, and that it is the master', async () => {
    await redis.config('SET', 'maxmemory', '100mb');
    expect(await readRedisFacts(redis)).toMatchObject({
      persistence: 'none',
      maxBytes: 104_857_600,
      role: 'master',
    });
    await redis.config('SET', 'save', '3600 1');
    expect((await readRedisFacts(redis)).persistence).toBe('rdb');
    await redis.config('SET', 'appendonly', 'yes');
    expect((await readRedisFacts(redis)).persistence).toBe('aof');
    expect((await readRedisFacts(redis)).usedBytes).toBeGreaterThan(0);
  });

  it('that hides CONFIG from its users is refused only where persistence is required', async () => {
    await redis.call('ACL', 'SETUSER', 'app', 'on', '>word', '~*', '+@all', '-config');
    await redis.config('SET', 'appendonly', 'no');
    const app = new Redis(server.url, { username: 'app', password: 'word' });
    try {
      expect((await readRedisFacts(app)).persistence).toBe('unknown');
      expect(await requireSuitable(app, RULES)).toEqual([]);
      await expect(
        requireSuitable(app, { ...RULES, persistence: 'require' }),
      ).rejects.toMatchObject({
        message: expect.stringContaining('REDIS_PERSISTENCE=warn') as unknown,
      });
    } finally {
      app.disconnect();
    }
  });
});
