import { expect, it } from 'vitest';
import { judgeRedisSnapshot, type RedisSnapshot } from '../../src/doctor/judge-redis.ts';

const MB = 1024 * 1024;
const GOOD: RedisSnapshot = {
  version: '7.0.15',
  policy: 'noeviction',
  role: 'master',
  persistence: 'aof',
  saveFailed: false,
  usedBytes: 100 * MB,
  maxBytes: 1_000 * MB,
  machineBytes: 8_000 * MB,
  latencyMs: 0.3,
  aheadMs: 12,
};

// What a worker judges, too, is tried in redis/suitability.integration.test.ts.
it.each([
  ['redis.version', { version: '6.0.9' }, 'fail', '6.0.9'],
  ['redis.version', { version: '' }, 'ok', 'not reported'],
  ['redis.policy', { policy: 'allkeys-lru' }, 'fail', 'allkeys-lru'],
  ['redis.policy', { policy: '' }, 'warn', 'does not report'],
  ['redis.role', { role: 'replica' }, 'fail', 'takes no writes'],
  ['redis.role', { role: 'unknown' }, 'ok', 'not reported'],
  ['redis.persistence', { persistence: 'none' }, 'warn', 'keeps nothing on disk'],
  ['redis.persistence', { persistence: 'unknown' }, 'ok', 'not reported'],
  ['redis.memory', { usedBytes: 799 * MB }, 'ok', '80 %'],
  ['redis.memory', { usedBytes: 801 * MB }, 'warn', '80 %'],
  ['redis.memory', { usedBytes: 950 * MB }, 'fail', '95 %'],
  ['redis.memory', {}, 'ok', 'room for 29,360,128 rows of lists (25 bytes each)'],
  ['redis.memory', { usedBytes: 850 * MB }, 'warn', 'room for 0 rows of lists'],
  ['redis.memory', { maxBytes: 0, usedBytes: 7_000 * MB }, 'warn', 'without a maxmemory'],
  ['redis.memory', { maxBytes: 0, machineBytes: 0 }, 'ok', 'no limit is reported'],
  ['redis.latency', { latencyMs: 20 }, 'ok', '20 ms'],
  ['redis.latency', { latencyMs: 21 }, 'warn', '21 ms'],
  ['redis.latency', { latencyMs: 501 }, 'fail', 'too slow'],
  ['redis.clock', { aheadMs: 1_000 }, 'ok', 'within a second'],
  ['redis.clock', { aheadMs: 1_500 }, 'warn', '1.5 s ahead of'],
  ['redis.clock', { aheadMs: -31_000 }, 'fail', '31.0 s behind'],
] as const)('%s %j: %s', (check, snapshot, level, words) => {
  const rules = { persistence: 'warn', memoryHeadroom: 20 } as const;
  const found = judgeRedisSnapshot({ ...GOOD, ...snapshot }, rules);
  const [finding, ...more] = found.filter((one) => one.check === check);
  expect([found.length, more]).toEqual([7, []]);
  expect(finding).toMatchObject({ level, says: expect.stringContaining(words) as string });
  expect(finding?.remedy === undefined).toBe(level === 'ok');
  // One bad sign makes one bad finding.
  expect(found.every((one) => one === finding || one.level === 'ok')).toBe(true);
});
