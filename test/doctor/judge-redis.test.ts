import { describe, expect, it } from 'vitest';
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

const RULES = { persistence: 'warn', memoryHeadroom: 20 } as const;

describe('a Redis that answers', () => {
  it('is fine where all is well, and nothing is to be done', () => {
    const findings = judgeRedisSnapshot(GOOD, RULES);
    expect(findings.map(({ level }) => level)).toEqual(Array.from({ length: 7 }, () => 'ok'));
    expect(findings.every(({ remedy }) => remedy === undefined)).toBe(true);
  });

  it.each([
    ['redis.version', { version: '6.0.9' }, 'fail', '6.0.9'],
    ['redis.version', { version: '6.2.0' }, 'ok', '6.2.0'],
    ['redis.version', { version: '' }, 'ok', 'not reported'],
    ['redis.policy', { policy: 'allkeys-lru' }, 'fail', 'allkeys-lru'],
    ['redis.policy', { policy: 'volatile-ttl' }, 'fail', 'evict'],
    ['redis.policy', { policy: '' }, 'warn', 'does not report'],
    ['redis.role', { role: 'replica' }, 'fail', 'takes no writes'],
    ['redis.role', { role: 'unknown' }, 'ok', 'not reported'],
    ['redis.persistence', { persistence: 'rdb' }, 'warn', 'makes snapshots only'],
    ['redis.persistence', { persistence: 'none' }, 'warn', 'keeps nothing on disk'],
    ['redis.persistence', { persistence: 'unknown' }, 'ok', 'not reported'],
    ['redis.persistence', { saveFailed: true }, 'warn', 'failed'],
    ['redis.memory', { usedBytes: 799 * MB }, 'ok', '80 %'],
    ['redis.memory', { usedBytes: 801 * MB }, 'warn', '80 %'],
    ['redis.memory', { usedBytes: 950 * MB }, 'fail', '95 %'],
    ['redis.memory', { maxBytes: 0 }, 'ok', 'without a maxmemory'],
    ['redis.memory', { maxBytes: 0, usedBytes: 7_000 * MB }, 'warn', 'without a maxmemory'],
    ['redis.memory', { maxBytes: 0, machineBytes: 0 }, 'ok', 'no limit is reported'],
    ['redis.latency', { latencyMs: 20 }, 'ok', '20 ms'],
    ['redis.latency', { latencyMs: 21 }, 'warn', '21 ms'],
    ['redis.latency', { latencyMs: 501 }, 'fail', 'too slow'],
    ['redis.clock', { aheadMs: 1_000 }, 'ok', 'within a second'],
    ['redis.clock', { aheadMs: 1_500 }, 'warn', '1.5 s ahead of'],
    ['redis.clock', { aheadMs: -1_500 }, 'warn', '1.5 s behind'],
    ['redis.clock', { aheadMs: -31_000 }, 'fail', '31.0 s behind'],
  ] as const)('%s %j: %s', (check, snapshot, level, words) => {
    const found = judgeRedisSnapshot({ ...GOOD, ...snapshot }, RULES);
    const [finding, ...more] = found.filter((one) => one.check === check);
    expect(more).toEqual([]);
    expect(finding).toMatchObject({ level, says: expect.stringContaining(words) as string });
    expect(finding?.remedy === undefined).toBe(level === 'ok');
    // One bad sign makes one bad finding.
    expect(found.filter((one) => one.check !== check).every((one) => one.level === 'ok')).toBe(
      true,
    );
  });

  it.each([
    ['redis.persistence', { persistence: 'none' }, { persistence: 'require' }, 'fail'],
    ['redis.persistence', { persistence: 'unknown' }, { persistence: 'require' }, 'fail'],
    ['redis.persistence', { persistence: 'none' }, { persistence: 'ignore' }, 'ok'],
    ['redis.persistence', { persistence: 'rdb' }, { persistence: 'ignore' }, 'ok'],
    ['redis.persistence', { saveFailed: true }, { persistence: 'require' }, 'fail'],
    ['redis.memory', { usedBytes: 940 * MB }, { memoryHeadroom: 0 }, 'ok'],
    ['redis.memory', { usedBytes: 501 * MB }, { memoryHeadroom: 50 }, 'warn'],
  ] as const)('%s %j under %j: %s', (check, snapshot, rules, level) => {
    const found = judgeRedisSnapshot({ ...GOOD, ...snapshot }, { ...RULES, ...rules });
    expect(found.find((one) => one.check === check)).toMatchObject({ level });
  });
});
