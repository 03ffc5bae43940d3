import type { BackgroundService } from '../../src/async/lifecycle.ts';
import { readRedisFacts } from '../../src/redis/facts.ts';
import { redisErrorFields } from '../../src/redis/failure.ts';
import { judgeRedis, type RedisFinding } from '../../src/redis/suitability.ts';
import type { WorkerBasis } from './worker-basis.ts';

/** While no job may be taken, Redis is checked this often: after a failover it may be another one at any time. */
const UNFIT_CHECK_MS = 1_000;

/**
 * Checks every `everyMs`, and at each new connection, whether Redis still meets the requirements of the queue; every
 * {@link UNFIT_CHECK_MS} while it does not. Logs each finding once, and once more when it is over. While Redis does not
 * answer, the last findings stay in effect.
 */
export class RedisMonitor implements BackgroundService {
  readonly #basis: WorkerBasis;
  readonly #found: readonly RedisFinding[];
  readonly #onChange: (unfit: boolean) => void;
  #before: readonly RedisFinding[] = [];
  #unfit = false;
  #checking = false;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #check = () => void this.#checkNow();

  /** @param found in the check before the start @param onChange called when it changes whether further jobs may be taken */
  constructor(
    basis: WorkerBasis,
    found: readonly RedisFinding[],
    onChange: (unfit: boolean) => void,
  ) {
    this.#basis = basis;
    this.#found = found;
    this.#onChange = onChange;
  }

  start(): void {
    this.#report(this.#found);
    this.#basis.redis.on('ready', this.#check);
    this.#schedule();
  }

  stop(): void {
    this.#stopped = true;
    this.#basis.redis.off('ready', this.#check);
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    const { everyMs } = this.#basis.config.redisWatch;
    const ms = this.#unfit ? Math.min(UNFIT_CHECK_MS, everyMs) : everyMs;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#check, ms);
  }

  async #checkNow(): Promise<void> {
    if (this.#checking) return;
    const { redis, config, log } = this.#basis;
    this.#checking = true;
    try {
      const now = judgeRedis(await readRedisFacts(redis), config.redisWatch);
      if (!this.#stopped) this.#report(now);
    } catch (error) {
      log.debug({ event: 'redis-watch-trouble', ...redisErrorFields(error) });
    } finally {
      this.#checking = false;
      if (!this.#stopped) this.#schedule();
    }
  }

  #report(now: readonly RedisFinding[]): void {
    const { log } = this.#basis;
    const before = this.#before;
    this.#before = now;
    for (const { code, severity, words, remedy } of now) {
      // A finding whose severity changed is another one.
      if (before.some((other) => other.code === code && other.severity === severity)) continue;
      log[severity === 'refuse' ? 'error' : 'warn'](
        { event: 'redis-finding', code, severity, remedy },
        words,
      );
    }
    for (const { code } of before) {
      if (!now.some((other) => other.code === code)) {
        log.info({ event: 'redis-finding-over', code });
      }
    }
    const unfit = now.some(({ severity }) => severity === 'refuse');
    if (unfit === this.#unfit) return;
    this.#unfit = unfit;
    this.#onChange(unfit);
  }
}
