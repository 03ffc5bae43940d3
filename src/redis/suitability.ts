import { NoticeQueueError } from '../contracts/errors.ts';
import type { RedisClient } from './connect.ts';
import { readRedisFacts, type RedisFacts } from './facts.ts';
import type { Keys } from './keys.ts';

/** What is asked of a Redis beside what must be. */
export interface RedisRules {
  /** What becomes of a Redis that keeps nothing on disk, or only snapshots (REDIS_PERSISTENCE). */
  readonly persistence: 'require' | 'warn' | 'ignore';
  /** Percent of `maxmemory` that should be free (REDIS_MEMORY_HEADROOM); 0 asks for none. */
  readonly memoryHeadroom: number;
}

/** Something about a Redis that costs notices sooner or later. */
export interface RedisFinding {
  readonly code: FindingCode;
  /** `refuse`: no worker starts on it, and one that runs takes no further jobs until it is mended. */
  readonly severity: 'refuse' | 'warn';
  /** What is found, in plain words. */
  readonly words: string;
  readonly remedy: string;
}

/** Name of a finding. */
export type FindingCode =
  'too-old' | 'evicts' | 'replica' | 'not-persistent' | 'snapshots-only' | 'save-failed' | 'memory';

interface SuitabilityRow {
  readonly code: FindingCode;
  /** Undefined where nothing is found, or nothing is asked. */
  readonly judge: (
    facts: RedisFacts,
    rules: RedisRules,
  ) => [RedisFinding['severity'], string] | undefined;
  readonly remedy: string;
}

/** Oldest Redis that BullMQ works with unreservedly. */
const MIN_VERSION = '6.2.0';

/** What is looked at, one row for each finding. What a server does not say is not found. */
const ROWS: readonly SuitabilityRow[] = [
  {
    code: 'too-old',
    judge: ({ version }) =>
      isTooOld(version) ? ['refuse', `Redis ${version} is older than ${MIN_VERSION}`] : undefined,
    remedy: 'use a newer one',
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
            'Redis keeps nothing on disk: a restart loses every notice that waits',
          ]
        : undefined,
    remedy: 'set appendonly to yes',
  },
  {
    code: 'snapshots-only',
    judge: ({ persistence }, rules) =>
      persistence === 'rdb' && rules.persistence !== 'ignore'
        ? [
            'warn',
            'Redis takes snapshots only: a crash loses what was queued since the last one, and what was sent since would be sent again',
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
    remedy: 'look at the log and the disk of Redis',
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
    remedy:
      'raise maxmemory, lower HIGH_WATER, or keep less (KEEP_ACCEPTED_MS, BATCH_RETENTION_MS)',
  },
];

/** What is wrong with this Redis for a queue that must not lose notices; empty when nothing is. */
export function judgeRedis(facts: RedisFacts, rules: RedisRules): RedisFinding[] {
  return ROWS.flatMap(({ code, judge, remedy }) => {
    const found = judge(facts, rules);
    return found === undefined ? [] : [{ code, severity: found[0], words: found[1], remedy }];
  });
}

/**
 * Looks at Redis before anything is taken from it.
 *
 * @returns what is only warned of
 * @throws NoticeQueueError REDIS_UNSUITABLE that says what is wrong and what to set
 */
export async function requireSuitable(
  redis: RedisClient,
  rules: RedisRules,
  keys?: Pick<Keys, 'hold'>,
): Promise<readonly RedisFinding[]> {
  const findings = judgeRedis(await readRedisFacts(redis, keys), rules);
  const refused = findings.filter(({ severity }) => severity === 'refuse');
  if (refused.length === 0) return findings;
  const texts = refused.map(({ words, remedy }) => `${words}: ${remedy}`);
  throw new NoticeQueueError('REDIS_UNSUITABLE', `${texts.join('; ')}.`);
}

/** Whether Redis would throw notices away under memory pressure; not where it does not show its policy. */
export function evicts(policy: string): boolean {
  return policy !== '' && policy !== 'noeviction';
}

/** Whether less than `headroom` percent of the limit is free. */
export function isShort(usedBytes: number, limit: number, headroom: number): boolean {
  return limit - usedBytes < (limit * headroom) / 100;
}

/** Whether BullMQ wants a newer one; not where the server does not show its version. */
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
