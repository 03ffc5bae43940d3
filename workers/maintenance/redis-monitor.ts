import type { Logger } from 'pino';
import type { BackgroundService } from '../../src/async/lifecycle.ts';
import type { RedisWatchConfig } from '../../src/config/config.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { readRedisFacts } from '../../src/redis/facts.ts';
import { redisErrorFields } from '../../src/redis/failure.ts';
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
function changeOf(before: readonly RedisFinding[], now: readonly RedisFinding[]): Change {
  const among = (findings: readonly RedisFinding[], { code, severity }: RedisFinding) =>
    findings.some((other) => other.code === code && other.severity === severity);
  return {
    added: now.filter((finding) => !among(before, finding)),
    ended: before.filter((finding) => !now.some(({ code }) => code === finding.code)),
    unfit: now.some(({ severity }) => severity === 'refuse'),
  };
}

/** Options of {@link RedisMonitor}. */
export interface RedisMonitorOptions {
  readonly redis: RedisClient;
  readonly keys: Keys;
  readonly watch: RedisWatchConfig;
  /** Findings of the check before the start. */
  readonly found: readonly RedisFinding[];
  readonly log: Logger;
  /** Called when it changes whether further jobs may be taken. */
  readonly onChange: (unfit: boolean) => void;
}

/** While no job may be taken, Redis is checked this often: after a failover it may be another one at any time. */
const UNFIT_CHECK_MS = 1_000;

/**
 * Checks every `everyMs`, and at each new connection, whether Redis still meets the requirements of the queue; every
 * {@link UNFIT_CHECK_MS} while it does not. Logs each finding once, and once more when it is over. While Redis does not
 * answer, the last findings stay in effect.
 */
export class RedisMonitor implements BackgroundService {
  readonly #options: RedisMonitorOptions;
  #before: readonly RedisFinding[] = [];
  #unfit = false;
  #checking = false;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #check = () => void this.#checkNow();

  constructor(options: RedisMonitorOptions) {
    this.#options = options;
  }

  start(): void {
    const { redis, found } = this.#options;
    this.#report(found);
    redis.on('ready', this.#check);
    this.#schedule();
  }

  stop(): void {
    this.#stopped = true;
    this.#options.redis.off('ready', this.#check);
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    const { everyMs } = this.#options.watch;
    const ms = this.#unfit ? Math.min(UNFIT_CHECK_MS, everyMs) : everyMs;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#check, ms);
  }

  async #checkNow(): Promise<void> {
    if (this.#checking) return;
    const { redis, keys, watch, log } = this.#options;
    this.#checking = true;
    try {
      const now = judgeRedis(await readRedisFacts(redis, keys), watch);
      if (!this.#stopped) this.#report(now);
    } catch (error) {
      log.debug({ event: 'redis-watch-trouble', ...redisErrorFields(error) });
    } finally {
      this.#checking = false;
      if (!this.#stopped) this.#schedule();
    }
  }

  #report(now: readonly RedisFinding[]): void {
    const { log, onChange } = this.#options;
    const { added, ended, unfit } = changeOf(this.#before, now);
    this.#before = now;
    for (const { code, severity, words, remedy } of added) {
      log[severity === 'refuse' ? 'error' : 'warn'](
        { event: 'redis-finding', code, severity, remedy },
        words,
      );
    }
    for (const { code } of ended) log.info({ event: 'redis-finding-over', code });
    if (unfit === this.#unfit) return;
    this.#unfit = unfit;
    onChange(unfit);
  }
}
