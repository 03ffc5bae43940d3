import type { Logger } from 'pino';
import type { RedisClient } from '../../../redis/connect.ts';
import { redisFailure } from '../../../redis/failure.ts';
import type { Keys } from '../../../redis/keys.ts';
import { defineScript } from '../../../redis/script.ts';
import { TooManyRequests } from '../http/problem.ts';

/**
 * Actions of one caller that are recorded in each audit stream in a day (UTC). A hundred days of actions with one entry
 * fill a stream, and entries are kept for 90: so no caller displaces those of others with them. A decision on many unknown
 * notices is one action, with an entry for each of them.
 */
export const SHARE_A_DAY = 10_000;

const DAY_MS = 24 * 3_600_000;

/** Changes, or searches and downloads. */
type AuditKind = 'changes' | 'reads';

/**
 * Counts an entry. KEYS: the shares. ARGV: kind and caller. Returns the count of the day, and what is left of the day.
 * Begins with a removal: a Redis that is out of memory then takes it, and a hold can be lifted, or failed notices deleted.
 */
const count = defineScript<readonly [count: number, leftMs: number]>({
  name: 'audit-share',
  keys: 1,
  lua: `
  local leftMs = ${DAY_MS} - clock() % ${DAY_MS}
  redis.call('HDEL', KEYS[1], '')
  local counted = redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
  redis.call('PEXPIRE', KEYS[1], leftMs)
  return { counted, leftMs }`,
  parse: (reply) => reply as readonly [number, number],
});

/**
 * The entries that each caller of the ops servers may make in the audit streams. They are counted before something is
 * done, since most entries are written after it: what could not be recorded must not be done.
 */
export class AuditShares {
  readonly #redis: RedisClient;
  readonly #keys: Pick<Keys, 'auditShares'>;
  readonly #log: Pick<Logger, 'warn'>;

  constructor(redis: RedisClient, keys: Pick<Keys, 'auditShares'>, log: Pick<Logger, 'warn'>) {
    this.#redis = redis;
    this.#keys = keys;
    this.#log = log;
  }

  /**
   * Counts an entry.
   *
   * @param who name in the audit stream
   * @throws TooManyRequests where the share of the day is used up
   * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
   */
  async take(kind: AuditKind, who: string): Promise<void> {
    const leftMs = await this.#count(kind, who);
    if (leftMs === undefined) return;
    throw new TooManyRequests(
      Math.ceil(leftMs / 1_000),
      `The audit stream takes ${SHARE_A_DAY.toLocaleString('en')} ${kind === 'changes' ? 'changes' : 'searches and downloads'} of one caller and day (UTC), and these were made; nothing was done. Go on tomorrow, or with the command line.`,
    );
  }

  /**
   * Counts an entry of a caller whose action is not refused.
   *
   * @returns whether it may be recorded
   * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
   */
  async tryTake(kind: AuditKind, who: string): Promise<boolean> {
    return (await this.#count(kind, who)) === undefined;
  }

  /** @returns milliseconds until the next day where the share is used up, otherwise undefined */
  async #count(kind: AuditKind, who: string): Promise<number | undefined> {
    try {
      const [counted, leftMs] = await count(
        this.#redis,
        [this.#keys.auditShares],
        [`${kind} ${who}`],
      );
      if (counted <= SHARE_A_DAY) return undefined;
      if (counted === SHARE_A_DAY + 1) this.#log.warn({ event: 'ops-audit-share', who, kind });
      return leftMs;
    } catch (error) {
      throw redisFailure(error);
    }
  }
}
