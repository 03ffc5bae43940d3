import { z } from 'zod';
import type { Answer } from '../contracts/answer.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import type { RedisClient } from './connect.ts';
import { readRedisFacts, type RedisFacts } from './facts.ts';

export interface RedisRules {
  /** How to treat a Redis that keeps nothing on disk, or only snapshots (REDIS_PERSISTENCE). */
  readonly persistence: 'require' | 'warn' | 'ignore';
  /** Percentage of `maxmemory` that should be free; 0 for no check. */
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

/**
 * Checks Redis against the requirements of a queue that must not lose notices; empty when it meets them. What a server does
 * not report is not a finding, unless it is required.
 */
export function judgeRedis(facts: RedisFacts, rules: RedisRules): RedisFinding[] {
  const { version, policy, persistence, saveFailed, usedBytes, maxBytes } = facts;
  const { persistence: rule, memoryHeadroom } = rules;
  // Of a Redis that loses what it has.
  const ofLoss = rule === 'ignore' ? false : rule === 'require' ? 'refuse' : 'warn';
  const isFull = maxBytes > 0 && isShort(usedBytes, maxBytes, memoryHeadroom);
  const checks: readonly (readonly [
    code: FindingCode,
    severity: RedisFinding['severity'] | false,
    words: string,
    remedy: string,
  ])[] = [
    [
      'too-old',
      isTooOld(version) && 'refuse',
      `Redis ${version} is older than ${MIN_VERSION}`,
      'use a newer version',
    ],
    [
      'evicts',
      evicts(policy) && 'refuse',
      `under memory pressure Redis would evict notices (${policy})`,
      'set maxmemory-policy to noeviction',
    ],
    [
      'replica',
      facts.role === 'replica' && 'refuse',
      'this Redis is a replica and takes no writes',
      'point the workers at the master, or at the Sentinels (REDIS_SENTINELS)',
    ],
    [
      'not-persistent',
      persistence === 'none' && ofLoss,
      'Redis keeps nothing on disk: a restart loses every waiting notice',
      'set appendonly to yes',
    ],
    [
      'persistence-unknown',
      persistence === 'unknown' && rule === 'require' && 'refuse',
      'Redis does not show whether it keeps anything on disk',
      'set appendonly to yes; without the right to CONFIG, snapshots are seen after the first one; REDIS_PERSISTENCE=warn accepts it',
    ],
    [
      'snapshots-only',
      persistence === 'rdb' && rule !== 'ignore' && 'warn',
      'Redis makes snapshots only: a crash loses what was queued since the last one, and what was sent since then would be sent again',
      'set appendonly to yes',
    ],
    [
      'save-failed',
      saveFailed && ofLoss,
      'the last write of Redis to its disk failed, and it may refuse commands',
      'check the log and the disk of Redis',
    ],
    [
      'memory',
      isFull && 'warn',
      `Redis uses ${Math.round((usedBytes * 100) / maxBytes)} % of its memory; once it is full no notice can be queued`,
      'raise maxmemory, lower HIGH_WATER, or keep less (KEEP_ACCEPTED_MS, KEEP_FAILED_MS)',
    ],
  ];
  return checks.flatMap(([code, severity, words, remedy]) =>
    severity === false ? [] : [{ code, severity, words, remedy }],
  );
}

/**
 * Checks Redis before a worker takes jobs from it.
 *
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
