import { isTooOld } from '../../redis/suitability.ts';
import { fail, ok, warn, type Finding } from './finding.ts';
import type { RedisSigns } from './redis-facts.ts';

/** A send costs a round trip or two: from here on Redis is what slows them down, or stops them. */
const SLOW_MS = 20;
const TOO_SLOW_MS = 500;

/**
 * Deadlines of notices are times of the machines that hand them over, those of batches and tokens are
 * Redis time: clocks that differ by more make notices expire too early or too late.
 */
const CLOCK_WARN_MS = 1_000;
const CLOCK_FAIL_MS = 30_000;

/** Shares of the memory in use. */
const MEMORY_WARN = 0.8;
const MEMORY_FAIL = 0.95;

/** What a Redis that answers is judged by, one finding for each sign. */
export function judgeRedisSigns(signs: RedisSigns): Finding[] {
  return [
    version(signs),
    policy(signs),
    role(signs),
    persistence(signs),
    memory(signs),
    latency(signs),
    clock(signs),
  ];
}

function version({ version }: RedisSigns): Finding {
  if (isTooOld(version)) {
    return fail('redis.version', `Redis ${version} is too old`, 'use Redis 6.2 or newer');
  }
  return ok('redis.version', version === '' ? 'not shown by this server' : `Redis ${version}`);
}

function policy({ policy }: RedisSigns): Finding {
  if (policy === 'noeviction') return ok('redis.policy', 'noeviction: it never evicts notices');
  if (policy === '') {
    return warn(
      'redis.policy',
      'this server does not say what it evicts when it is full',
      'make sure that its maxmemory-policy is noeviction',
    );
  }
  return fail(
    'redis.policy',
    `maxmemory-policy is ${policy}: under memory pressure Redis would evict notices`,
    'set maxmemory-policy to noeviction; workers do not start before',
  );
}

function role({ role }: RedisSigns): Finding {
  if (role === 'replica') {
    return fail(
      'redis.role',
      'this Redis is a replica and takes no writes',
      'point REDIS_URL at the master, or set REDIS_SENTINELS',
    );
  }
  return ok('redis.role', role === 'master' ? 'it takes writes' : 'not shown by this server');
}

function persistence({ persistence, saveFailed }: RedisSigns): Finding {
  if (saveFailed) {
    return fail(
      'redis.persistence',
      'the last write of Redis to its disk failed; it may refuse commands, and a restart loses notices',
      'look at the log and the disk of Redis',
    );
  }
  switch (persistence) {
    case 'aof':
      return ok('redis.persistence', 'append-only file: a crash loses a second or so');
    case 'rdb':
      return warn(
        'redis.persistence',
        'snapshots only: a crash loses what was queued since the last one, and what was sent since would be sent again',
        'set appendonly to yes',
      );
    case 'none':
      return warn(
        'redis.persistence',
        'nothing is kept on disk: a restart of Redis loses every notice that waits',
        'set appendonly to yes',
      );
    case 'unknown':
      return ok('redis.persistence', 'not shown by this server');
  }
}

function memory({ usedBytes, maxBytes, machineBytes }: RedisSigns): Finding {
  const limit = maxBytes > 0 ? maxBytes : machineBytes;
  const of =
    maxBytes > 0
      ? `${megabytes(maxBytes)} (maxmemory)`
      : `${megabytes(machineBytes)} of its machine, without a maxmemory`;
  if (limit === 0) return ok('redis.memory', `${megabytes(usedBytes)} in use; no limit is shown`);
  const says = `${megabytes(usedBytes)} of ${of} in use, ${Math.round((usedBytes * 100) / limit)} %`;
  const remedy =
    'raise maxmemory, lower HIGH_WATER, or keep less (KEEP_ACCEPTED_MS, BATCH_RETENTION_MS)';
  if (usedBytes >= limit * MEMORY_FAIL) {
    return fail('redis.memory', `${says}: soon no notice can be queued`, remedy);
  }
  if (usedBytes >= limit * MEMORY_WARN) return warn('redis.memory', says, remedy);
  return ok('redis.memory', says);
}

function latency({ latencyMs }: RedisSigns): Finding {
  const says = `${latencyMs.toFixed(latencyMs < 10 ? 1 : 0)} ms for a round trip (the median)`;
  const remedy = 'run workers near their Redis, and look for what else keeps it busy';
  if (latencyMs > TOO_SLOW_MS) {
    return fail('redis.latency', `${says}: too slow for locks and deadlines to hold`, remedy);
  }
  if (latencyMs > SLOW_MS) return warn('redis.latency', `${says}: sends wait for it`, remedy);
  return ok('redis.latency', says);
}

function clock({ aheadMs }: RedisSigns): Finding {
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
