import type { Logger } from 'pino';
import type { RedisWatchConfig } from '../../src/config/config.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { readRedisFacts } from '../../src/redis/facts.ts';
import { redisErrorCode } from '../../src/redis/failure.ts';
import type { Keys } from '../../src/redis/keys.ts';
import { judgeRedis, type RedisFinding } from '../../src/redis/suitability.ts';

/** The difference between two checks. */
interface Change {
  readonly added: readonly RedisFinding[];
  readonly ended: readonly RedisFinding[];
  /** No further job may be taken. */
  readonly unfit: boolean;
}

/** Compares two checks. A finding whose severity changed counts as added. */
export function changeOf(before: readonly RedisFinding[], now: readonly RedisFinding[]): Change {
  const among = (findings: readonly RedisFinding[], { code, severity }: RedisFinding) =>
    findings.some((other) => other.code === code && other.severity === severity);
  return {
    added: now.filter((finding) => !among(before, finding)),
    ended: before.filter((finding) => !now.some(({ code }) => code === finding.code)),
    unfit: now.some(({ severity }) => severity === 'refuse'),
  };
}

/**
 * Checks every `everyMs` whether Redis still meets the requirements of the queue. Logs each finding once,
 * and once more when it is over. While Redis does not answer, the last findings stay in effect.
 *
 * @param found findings at the start
 * @param onFitness called after each check; `unfit` means that no further job may be taken
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
  let checking = false;
  let stopped = false;

  const report = (now: readonly RedisFinding[]) => {
    const { added, ended, unfit } = changeOf(before, now);
    before = now;
    for (const { code, severity, words, remedy } of added) {
      log[severity === 'refuse' ? 'error' : 'warn'](
        { event: 'redis-finding', code, severity, remedy },
        words,
      );
    }
    for (const { code } of ended) log.info({ event: 'redis-finding-over', code });
    onFitness(unfit);
  };
  const check = async () => {
    if (checking) return;
    checking = true;
    try {
      const now = judgeRedis(await readRedisFacts(redis, keys), rules);
      if (!stopped) report(now);
    } catch (error) {
      log.debug({ event: 'redis-watch-trouble', code: redisErrorCode(error) });
    } finally {
      checking = false;
    }
  };
  report(found);
  const timer = setInterval(() => void check(), everyMs);
  return {
    stop: () => {
      stopped = true;
      clearInterval(timer);
    },
  };
}
