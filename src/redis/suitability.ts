import { z } from 'zod';
import type { Answer } from '../contracts/answer.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import type { RedisClient } from './connect.ts';
import { readRedisFacts, type RedisFacts } from './facts.ts';

export interface RedisRules {
  /** How to treat a Redis that keeps nothing on disk, or only snapshots (REDIS_PERSISTENCE). */
  readonly persistence: 'require' | 'warn' | 'ignore';
  /** Percentage of `maxmemory` that should be free (REDIS_MEMORY_HEADROOM); 0 for no check. */
  readonly memoryHeadroom: number;
}

/** A property of Redis that can lose notices. */
export const redisFinding = z.object({
  code: z.enum([
    'too-old',
    'evicts',
    'replica',
    'not-persistent',
    'persistence-unknown',
    'snapshots-only',
    'save-failed',
    'memory',
  ]),
  severity: z.enum(['refuse', 'warn']).describe('refuse: no worker sends until it is fixed'),
  words: z.string(),
  remedy: z.string(),
});

export type RedisFinding = Answer<z.output<typeof redisFinding>>;

export type FindingCode = RedisFinding['code'];

/** Oldest Redis that BullMQ supports without restrictions. */
const MIN_VERSION = '6.2.0';

/** What one check finds; undefined when all is well or not required. */
type Found = readonly [severity: RedisFinding['severity'], words: string] | undefined;

/** The checks with their remedies. What a server does not report is not a finding, unless it is required. */
const CHECKS: Readonly<
  Record<FindingCode, readonly [(facts: RedisFacts, rules: RedisRules) => Found, remedy: string]>
> = {
  'too-old': [
    ({ version }) =>
      isTooOld(version) ? ['refuse', `Redis ${version} is older than ${MIN_VERSION}`] : undefined,
    'use a newer version',
  ],
  evicts: [
    ({ policy }) =>
      evicts(policy)
        ? ['refuse', `under memory pressure Redis would evict notices (${policy})`]
        : undefined,
    'set maxmemory-policy to noeviction',
  ],
  replica: [
    ({ role }) =>
      role === 'replica' ? ['refuse', 'this Redis is a replica and takes no writes'] : undefined,
    'point the workers at the master, or at the Sentinels (REDIS_SENTINELS)',
  ],
  'not-persistent': [
    ({ persistence }, rules) =>
      persistence === 'none'
        ? byRule(rules, 'Redis keeps nothing on disk: a restart loses every waiting notice')
        : undefined,
    'set appendonly to yes',
  ],
  'persistence-unknown': [
    ({ persistence }, rules) =>
      persistence === 'unknown' && rules.persistence === 'require'
        ? ['refuse', 'Redis does not show whether it keeps anything on disk']
        : undefined,
    'set appendonly to yes; without the right to CONFIG, snapshots are seen after the first one; REDIS_PERSISTENCE=warn accepts it',
  ],
  'snapshots-only': [
    ({ persistence }, rules) =>
      persistence === 'rdb' && rules.persistence !== 'ignore'
        ? [
            'warn',
            'Redis makes snapshots only: a crash loses what was queued since the last one, and what was sent since then would be sent again',
          ]
        : undefined,
    'set appendonly to yes',
  ],
  'save-failed': [
    ({ saveFailed }, rules) =>
      saveFailed
        ? byRule(rules, 'the last write of Redis to its disk failed, and it may refuse commands')
        : undefined,
    'check the log and the disk of Redis',
  ],
  memory: [
    ({ usedBytes, maxBytes }, { memoryHeadroom }) =>
      maxBytes > 0 && isShort(usedBytes, maxBytes, memoryHeadroom)
        ? [
            'warn',
            `Redis uses ${Math.round((usedBytes * 100) / maxBytes)} % of its memory; once it is full no notice can be queued`,
          ]
        : undefined,
    'raise maxmemory, lower HIGH_WATER, or keep less (KEEP_ACCEPTED_MS, KEEP_FAILED_MS)',
  ],
};

/** What REDIS_PERSISTENCE makes of a Redis that loses what it has. */
const byRule = ({ persistence }: RedisRules, words: string): Found =>
  persistence === 'ignore' ? undefined : [persistence === 'require' ? 'refuse' : 'warn', words];

/** Checks Redis against the requirements of a queue that must not lose notices; empty when it meets them. */
export function judgeRedis(facts: RedisFacts, rules: RedisRules): RedisFinding[] {
  return Object.entries(CHECKS).flatMap(([code, [judge, remedy]]) => {
    const [severity, words] = judge(facts, rules) ?? [];
    if (severity === undefined || words === undefined) return [];
    return [{ code: code as FindingCode, severity, words, remedy }];
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
  return version !== '' && version.localeCompare(MIN_VERSION, 'en', { numeric: true }) < 0;
}
