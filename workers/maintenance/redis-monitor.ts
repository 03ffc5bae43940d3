import type { Logger } from 'pino';
import type { RedisWatchConfig } from '../../src/config/config.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { readRedisFacts } from '../../src/redis/facts.ts';
import { redisErrorWord } from '../../src/redis/failure.ts';
import type { Keys } from '../../src/redis/keys.ts';
import { judgeRedis, type RedisFinding } from '../../src/redis/suitability.ts';

/** What a look changes. */
interface Change {
  readonly begun: readonly RedisFinding[];
  readonly ended: readonly RedisFinding[];
  /** Whether no further job may be taken. */
  readonly unfit: boolean;
}

/** Compares two looks. A finding that becomes graver begins anew. */
export function changeOf(before: readonly RedisFinding[], now: readonly RedisFinding[]): Change {
  const among = (findings: readonly RedisFinding[], { code, severity }: RedisFinding) =>
    findings.some((other) => other.code === code && other.severity === severity);
  return {
    begun: now.filter((finding) => !among(before, finding)),
    ended: before.filter((finding) => !now.some(({ code }) => code === finding.code)),
    unfit: now.some(({ severity }) => severity === 'refuse'),
  };
}

/**
 * Looks every `everyMs` whether Redis is still fit for the queue. What is found is said once, and
 * once more when it is over. Redis that does not answer tells nothing: what was found before stands.
 *
 * @param found what was found at the start
 * @param onFitness told after each look whether no further job may be taken
 */
export function startRedisMonitor(
  redis: RedisClient,
  keys: Keys,
  { everyMs, ...rules }: RedisWatchConfig,
  found: readonly RedisFinding[],
  log: Logger,
  onFitness: (unfit: boolean) => void,
): { stop(): void } {
  let before: readonly RedisFinding[] = [];
  let looking = false;
  let stopped = false;

  const tell = (now: readonly RedisFinding[]) => {
    const { begun, ended, unfit } = changeOf(before, now);
    before = now;
    for (const { code, severity, words, remedy } of begun) {
      log[severity === 'refuse' ? 'error' : 'warn'](
        { event: 'redis-finding', code, severity, remedy },
        words,
      );
    }
    for (const { code } of ended) log.info({ event: 'redis-finding-over', code });
    onFitness(unfit);
  };
  const look = async () => {
    if (looking) return;
    looking = true;
    try {
      const now = judgeRedis(await readRedisFacts(redis, keys), rules);
      if (!stopped) tell(now);
    } catch (error) {
      log.debug({ event: 'redis-watch-trouble', code: redisErrorWord(error) });
    } finally {
      looking = false;
    }
  };
  tell(found);
  const timer = setInterval(() => void look(), everyMs);
  return {
    stop: () => {
      stopped = true;
      clearInterval(timer);
    },
  };
}
