import { countOf, formatSize } from '../format/format.ts';
import { isShort, judgeRedis, type FindingCode, type RedisRules } from '../redis/suitability.ts';
import { fail, ok, warn, type CheckName, type Finding } from './finding.ts';
import type { RedisClient } from '../redis/connect.ts';
import { readRedisFacts, type RedisFacts } from '../redis/facts.ts';
import { translated } from '../redis/failure.ts';
import { roomFor } from '../redis/memory-room.ts';
import { redisTime } from '../redis/server-clock.ts';

export interface RedisSnapshot extends RedisFacts {
  /** Median of some PINGs, in milliseconds. */
  readonly latencyMs: number;
  /** How far its clock is ahead of this machine's, in milliseconds; negative where it is behind. */
  readonly aheadMs: number;
}

const PINGS = 11;
const CLOCK_READINGS = 5;

export async function readRedisSnapshot(redis: RedisClient): Promise<RedisSnapshot> {
  const facts = await readRedisFacts(redis);
  const latencyMs = await translated(latencyOf(redis));
  return { ...facts, latencyMs, aheadMs: await translated(clockOf(redis)) };
}

async function latencyOf(redis: RedisClient): Promise<number> {
  const times: number[] = [];
  for (let ping = 0; ping < PINGS; ping++) {
    const startedAt = performance.now();
    await redis.ping();
    times.push(performance.now() - startedAt);
  }
  return times.sort((a, b) => a - b)[Math.floor(PINGS / 2)] ?? 0;
}

/** The fastest of several readings is the most exact; Redis answered about in the middle of it. */
async function clockOf(redis: RedisClient): Promise<number> {
  let best = { tookMs: Infinity, aheadMs: 0 };
  for (let reading = 0; reading < CLOCK_READINGS; reading++) {
    const [startedAt, at] = [performance.now(), Date.now()];
    const theirs = await redisTime(redis);
    const tookMs = performance.now() - startedAt;
    if (tookMs < best.tookMs) best = { tookMs, aheadMs: theirs - (at + tookMs / 2) };
  }
  return best.aheadMs;
}

/** Round trip times in milliseconds from which on Redis slows sending down, or blocks it. */
const SLOW_MS = 20;
const TOO_SLOW_MS = 500;

/**
 * Clock differences in milliseconds. Deadlines of notices are times of the producers, those of batches
 * and tokens are Redis time: different clocks make notices expire too early or too late.
 */
const CLOCK_WARN_MS = 1_000;
const CLOCK_FAIL_MS = 30_000;

/** Share of memory from which on Redis may be full within minutes. */
const MEMORY_FAIL = 0.95;

/** The checks of suitability.ts by doctor check, with the text where nothing is wrong. */
const SHARED_CHECKS: readonly {
  readonly check: CheckName;
  readonly codes: readonly FindingCode[];
  readonly fine: (snapshot: RedisSnapshot) => string;
}[] = [
  {
    check: 'redis.version',
    codes: ['too-old'],
    fine: ({ version }) => (version === '' ? NOT_SHOWN : `Redis ${version}`),
  },
  {
    check: 'redis.policy',
    codes: ['evicts'],
    fine: () => 'noeviction: Redis never evicts notices',
  },
  {
    check: 'redis.role',
    codes: ['replica'],
    fine: ({ role }) => (role === 'master' ? 'accepts writes' : NOT_SHOWN),
  },
  {
    check: 'redis.persistence',
    codes: ['save-failed', 'not-persistent', 'persistence-unknown', 'snapshots-only'],
    fine: ({ persistence }) => SURVIVES[persistence],
  },
];

const NOT_SHOWN = 'not reported by this server';

const SURVIVES: Readonly<Record<RedisSnapshot['persistence'], string>> = {
  aof: 'append-only file: a crash loses about one second',
  rdb: 'snapshots only, which REDIS_PERSISTENCE accepts',
  none: 'no persistence, which REDIS_PERSISTENCE accepts',
  unknown: NOT_SHOWN,
};

/**
 * Checks a Redis that answers. Checks that workers also make use the same table: what workers refuse is
 * a failure here.
 */
export function judgeRedisSnapshot(snapshot: RedisSnapshot, rules: RedisRules): Finding[] {
  const found = judgeRedis(snapshot, rules);
  const shared = SHARED_CHECKS.map(({ check, codes, fine }) => {
    const finding = found.find(({ code }) => codes.includes(code));
    if (finding !== undefined) {
      const level = finding.severity === 'refuse' ? fail : warn;
      return level(check, finding.words, finding.remedy);
    }
    return check === 'redis.policy' && snapshot.policy === ''
      ? warn(
          check,
          'this server does not report its maxmemory-policy',
          'make sure that its maxmemory-policy is noeviction',
        )
      : ok(check, fine(snapshot));
  });
  return [...shared, memory(snapshot, rules), latency(snapshot), clock(snapshot)];
}

/** Of a contact that waits, with its entries for finding and comparing it (HIGH_WATER). */
const CONTACT_BYTES = 25;

/** Without `maxmemory`, the memory of the machine is the limit. */
function memory(
  { usedBytes, maxBytes, machineBytes }: RedisSnapshot,
  { memoryHeadroom }: RedisRules,
): Finding {
  const limit = maxBytes > 0 ? maxBytes : machineBytes;
  if (limit === 0)
    return ok('redis.memory', `${formatSize(usedBytes)} in use; no limit is reported`);
  const of =
    maxBytes > 0
      ? `${formatSize(maxBytes)} (maxmemory)`
      : `${formatSize(machineBytes)} of its machine, without a maxmemory`;
  const rows = Math.floor(roomFor('lists', usedBytes, maxBytes) / CONTACT_BYTES);
  const fits =
    maxBytes > 0 ? `; room for ${countOf(rows, 'row')} of lists (${CONTACT_BYTES} bytes each)` : '';
  const says = `${formatSize(usedBytes)} of ${of} in use, ${Math.round((usedBytes * 100) / limit)} %${fits}`;
  const remedy =
    'raise maxmemory, lower HIGH_WATER, or keep less (KEEP_ACCEPTED_MS, KEEP_FAILED_MS)';
  if (usedBytes >= limit * MEMORY_FAIL) {
    return fail('redis.memory', `${says}: no notice can be queued soon`, remedy);
  }
  if (isShort(usedBytes, limit, memoryHeadroom)) return warn('redis.memory', says, remedy);
  return ok('redis.memory', says);
}

function latency({ latencyMs }: RedisSnapshot): Finding {
  const says = `${latencyMs.toFixed(latencyMs < 10 ? 1 : 0)} ms for a round trip (the median)`;
  const remedy = 'run workers close to their Redis, and check what else loads it';
  if (latencyMs > TOO_SLOW_MS) {
    return fail('redis.latency', `${says}: too slow for locks and deadlines`, remedy);
  }
  if (latencyMs > SLOW_MS) return warn('redis.latency', `${says}: it slows sending down`, remedy);
  return ok('redis.latency', says);
}

function clock({ aheadMs }: RedisSnapshot): Finding {
  const off = Math.abs(aheadMs);
  const side = aheadMs > 0 ? 'ahead of' : 'behind';
  const says = `the clock of Redis is ${seconds(off)} ${side} the clock of this machine`;
  const remedy = 'synchronise both clocks with NTP';
  if (off > CLOCK_FAIL_MS) {
    return fail('redis.clock', `${says}: deadlines and expiries are wrong by that much`, remedy);
  }
  if (off > CLOCK_WARN_MS) return warn('redis.clock', says, remedy);
  return ok('redis.clock', 'the clocks of Redis and of this machine agree within a second');
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
