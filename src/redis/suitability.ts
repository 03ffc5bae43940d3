import { NoticeQueueError } from '../contracts/errors.ts';
import type { RedisClient } from './connect.ts';
import { readRedisFacts, type RedisFacts } from './facts.ts';

/** Configurable requirements of Redis. */
export interface RedisRules {
  /** How to treat a Redis that keeps nothing on disk, or only snapshots (REDIS_PERSISTENCE). */
  readonly persistence: 'require' | 'warn' | 'ignore';
  /** Percentage of `maxmemory` that should be free (REDIS_MEMORY_HEADROOM); 0 for no check. */
  readonly memoryHeadroom: number;
}

/** A property of Redis that can lose notices. */
export interface RedisFinding {
  readonly code: FindingCode;
  /** `refuse`: no worker starts, and a running one takes no further jobs until it is fixed. */
  readonly severity: 'refuse' | 'warn';
  /** What was found, for people. The field is part of the status API. */
  readonly words: string;
  readonly remedy: string;
}

/** Name of a finding. */
export type FindingCode =
  | 'too-old'
  | 'evicts'
  | 'replica'
  | 'not-persistent'
  | 'persistence-unknown'
  | 'snapshots-only'
  | 'save-failed'
  | 'memory';

interface SuitabilityRow {
  readonly code: FindingCode;
  /** Undefined when all is well or not required. */
  readonly judge: (
    facts: RedisFacts,
    rules: RedisRules,
  ) => [RedisFinding['severity'], string] | undefined;
  readonly remedy: string;
}

/** Oldest Redis that BullMQ supports without restrictions. */
const MIN_VERSION = '6.2.0';

/** The checks, one row for each finding. What a server does not report is not a finding, unless it is required. */
const ROWS: readonly SuitabilityRow[] = [
  {
    code: 'too-old',
    judge: ({ version }) =>
      isTooOld(version) ? ['refuse', `Redis ${version} is older than ${MIN_VERSION}`] : undefined,
    remedy: 'use a newer version',
  },
  {
    code: 'evicts',
    judge: ({ policy }) =>
      evicts(policy)
        ? ['refuse', `under memory pressure Redis would evict notices (${policy})`]
        : undefined,
    remedy: 'set maxmemory-policy to noeviction',
  },
  {
    code: 'replica',
    judge: ({ role }) =>
      role === 'replica' ? ['refuse', 'this Redis is a replica and takes no writes'] : undefined,
    remedy: 'point the workers at the master, or at the Sentinels (REDIS_SENTINELS)',
  },
  {
    code: 'not-persistent',
    judge: ({ persistence }, rules) =>
      persistence === 'none' && rules.persistence !== 'ignore'
        ? [
            rules.persistence === 'require' ? 'refuse' : 'warn',
            'Redis keeps nothing on disk: a restart loses every waiting notice',
          ]
        : undefined,
    remedy: 'set appendonly to yes',
  },
  {
    code: 'persistence-unknown',
    judge: ({ persistence }, rules) =>
      persistence === 'unknown' && rules.persistence === 'require'
        ? ['refuse', 'Redis does not show whether it keeps anything on disk']
        : undefined,
    remedy:
      'set appendonly to yes; without the right to CONFIG, snapshots are seen after the first one; REDIS_PERSISTENCE=warn accepts it',
  },
  {
    code: 'snapshots-only',
    judge: ({ persistence }, rules) =>
      persistence === 'rdb' && rules.persistence !== 'ignore'
        ? [
            'warn',
            'Redis makes snapshots only: a crash loses what was queued since the last one, and what was sent since then would be sent again',
          ]
        : undefined,
    remedy: 'set appendonly to yes',
  },
  {
    code: 'save-failed',
    judge: ({ saveFailed }, rules) =>
      saveFailed && rules.persistence !== 'ignore'
        ? [
            rules.persistence === 'require' ? 'refuse' : 'warn',
            'the last write of Redis to its disk failed, and it may refuse commands',
          ]
        : undefined,
    remedy: 'check the log and the disk of Redis',
  },
  {
    code: 'memory',
    judge: ({ usedBytes, maxBytes }, { memoryHeadroom }) =>
      maxBytes > 0 && isShort(usedBytes, maxBytes, memoryHeadroom)
        ? [
            'warn',
            `Redis uses ${Math.round((usedBytes * 100) / maxBytes)} % of its memory; once it is full no notice can be queued`,
          ]
        : undefined,
    remedy: 'raise maxmemory, lower HIGH_WATER, or keep less (KEEP_ACCEPTED_MS, KEEP_FAILED_MS)',
  },
];

/** Checks Redis against the requirements of a queue that must not lose notices; empty when it meets them. */
export function judgeRedis(facts: RedisFacts, rules: RedisRules): RedisFinding[] {
  return ROWS.flatMap(({ code, judge, remedy }) => {
    const found = judge(facts, rules);
    return found === undefined ? [] : [{ code, severity: found[0], words: found[1], remedy }];
  });
}

/**
 * Checks Redis before a worker takes jobs from it.
 *
 * @returns the warnings
 * @throws NoticeQueueError REDIS_UNSUITABLE with what is wrong and what to set
 */
export async function requireSuitable(
  redis: RedisClient,
  rules: RedisRules,
): Promise<readonly RedisFinding[]> {
  const findings = judgeRedis(await readRedisFacts(redis), rules);
  const refused = findings.filter(({ severity }) => severity === 'refuse');
  if (refused.length === 0) return findings;
  const texts = refused.map(({ words, remedy }) => `${words}: ${remedy}`);
  throw new NoticeQueueError('REDIS_UNSUITABLE', `${texts.join('; ')}.`);
}

/** Whether Redis would evict notices under memory pressure; false when its policy is unknown. */
export function evicts(policy: string): boolean {
  return policy !== '' && policy !== 'noeviction';
}

/** Whether less than `headroom` percent of the limit is free. */
export function isShort(usedBytes: number, limit: number, headroom: number): boolean {
  return limit - usedBytes < (limit * headroom) / 100;
}

/** Whether BullMQ requires a newer version; false when the version is unknown. */
function isTooOld(version: string): boolean {
  return version !== '' && compareVersions(version, MIN_VERSION) < 0;
}

function compareVersions(left: string, right: string): number {
  const parts = (version: string) => version.split('.').map(Number);
  const [a, b] = [parts(left), parts(right)];
  for (let index = 0; index < 3; index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
