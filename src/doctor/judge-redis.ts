import { isShort, judgeRedis, type FindingCode, type RedisRules } from '../redis/suitability.ts';
import { fail, ok, warn, type CheckName, type Finding } from './finding.ts';
import type { RedisSnapshot } from './redis-snapshot.ts';

/** A send costs a round trip or two: from here on Redis is what slows them down, or stops them. */
const SLOW_MS = 20;
const TOO_SLOW_MS = 500;

/**
 * Deadlines of notices are times of the machines that hand them over, those of batches and tokens are
 * Redis time: clocks that differ by more make notices expire too early or too late.
 */
const CLOCK_WARN_MS = 1_000;
const CLOCK_FAIL_MS = 30_000;

/** From this share of the memory on it is a matter of minutes. */
const MEMORY_FAIL = 0.95;

/** Names of what suitability.ts finds, by what doctor calls it; and what is said where nothing is found. */
const LOOKED_AT: readonly {
  readonly check: CheckName;
  readonly codes: readonly FindingCode[];
  readonly fine: (signs: RedisSnapshot) => string;
}[] = [
  {
    check: 'redis.version',
    codes: ['too-old'],
    fine: ({ version }) => (version === '' ? NOT_SHOWN : `Redis ${version}`),
  },
  {
    check: 'redis.policy',
    codes: ['evicts'],
    fine: () => 'noeviction: it never evicts notices',
  },
  {
    check: 'redis.role',
    codes: ['replica'],
    fine: ({ role }) => (role === 'master' ? 'it takes writes' : NOT_SHOWN),
  },
  {
    check: 'redis.persistence',
    codes: ['save-failed', 'not-persistent', 'snapshots-only'],
    fine: ({ persistence }) => SURVIVES[persistence],
  },
];

const NOT_SHOWN = 'not shown by this server';

/** What is said of a persistence that is not objected to. */
const SURVIVES: Readonly<Record<RedisSnapshot['persistence'], string>> = {
  aof: 'append-only file: a crash loses a second or so',
  rdb: 'snapshots only, which is not objected to (REDIS_PERSISTENCE)',
  none: 'nothing is kept on disk, which is not objected to (REDIS_PERSISTENCE)',
  unknown: NOT_SHOWN,
};

/**
 * What a Redis that answers is judged by, one finding for each sign. What workers judge too is judged
 * by their table: what they refuse is a failure here.
 */
export function judgeRedisSnapshot(signs: RedisSnapshot, rules: RedisRules): Finding[] {
  const found = judgeRedis(signs, rules);
  const shared = LOOKED_AT.map(({ check, codes, fine }) => {
    const finding = found.find(({ code }) => codes.includes(code));
    if (finding !== undefined) {
      const say = finding.severity === 'refuse' ? fail : warn;
      return say(check, finding.words, finding.remedy);
    }
    return check === 'redis.policy' && signs.policy === ''
      ? warn(
          check,
          'this server does not say what it evicts when it is full',
          'make sure that its maxmemory-policy is noeviction',
        )
      : ok(check, fine(signs));
  });
  return [...shared, memory(signs, rules), latency(signs), clock(signs)];
}

/** Also where there is no `maxmemory`: then the machine is the limit. */
function memory(
  { usedBytes, maxBytes, machineBytes }: RedisSnapshot,
  { memoryHeadroom }: RedisRules,
): Finding {
  const limit = maxBytes > 0 ? maxBytes : machineBytes;
  if (limit === 0) return ok('redis.memory', `${megabytes(usedBytes)} in use; no limit is shown`);
  const of =
    maxBytes > 0
      ? `${megabytes(maxBytes)} (maxmemory)`
      : `${megabytes(machineBytes)} of its machine, without a maxmemory`;
  const says = `${megabytes(usedBytes)} of ${of} in use, ${Math.round((usedBytes * 100) / limit)} %`;
  const remedy =
    'raise maxmemory, lower HIGH_WATER, or keep less (KEEP_ACCEPTED_MS, BATCH_RETENTION_MS)';
  if (usedBytes >= limit * MEMORY_FAIL) {
    return fail('redis.memory', `${says}: soon no notice can be queued`, remedy);
  }
  if (isShort(usedBytes, limit, memoryHeadroom)) return warn('redis.memory', says, remedy);
  return ok('redis.memory', says);
}

function latency({ latencyMs }: RedisSnapshot): Finding {
  const says = `${latencyMs.toFixed(latencyMs < 10 ? 1 : 0)} ms for a round trip (the median)`;
  const remedy = 'run workers near their Redis, and look for what else keeps it busy';
  if (latencyMs > TOO_SLOW_MS) {
    return fail('redis.latency', `${says}: too slow for locks and deadlines to hold`, remedy);
  }
  if (latencyMs > SLOW_MS) return warn('redis.latency', `${says}: sends wait for it`, remedy);
  return ok('redis.latency', says);
}

function clock({ aheadMs }: RedisSnapshot): Finding {
  const off = Math.abs(aheadMs);
  const side = aheadMs > 0 ? 'ahead of' : 'behind';
  const says = `the clock of Redis is ${seconds(off)} ${side} the one of this machine`;
  const remedy = 'synchronise both clocks (NTP)';
  if (off > CLOCK_FAIL_MS) {
    return fail('redis.clock', `${says}: deadlines and expiries are wrong by that much`, remedy);
  }
  if (off > CLOCK_WARN_MS) return warn('redis.clock', says, remedy);
  return ok('redis.clock', 'the clocks of Redis and of this machine agree within a second');
}

const megabytes = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MB`;
const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
