import { createHash } from 'node:crypto';

/**
 * Every Redis key this program owns, with its lifetime. All keys of one account share one hash tag,
 * so that scripts may touch several of them on a Redis Cluster. BullMQ's own keys stand under the
 * same tag, as `<tag>:send:*`.
 *
 * | key | type | holds | lifetime |
 * |---|---|---|---|
 * | `<tag>:token:<pair>:current` | hash | the sealed token, its id, fence and times | until replaced |
 * | `<tag>:token:<pair>:lock` | string | nonce of the process that issues | TOKEN_LOCK_TTL_MS |
 * | `<tag>:token:<pair>:fence` | string | counter of issuances begun | for ever (8 bytes) |
 * | `<tag>:token:<pair>:refused` | hash | why the last issuance failed | its own ttl, at most a minute |
 * | `<tag>:token:<pair>:streak` | string | failed issuances in a row | ten minutes |
 * | `<tag>:token:<pair>:issued` | sorted set | times of issuances, for the budget | TOKEN_BUDGET_WINDOW_MS |
 * | `<tag>:hold` | hash | the hold in force | until lifted, else a day |
 * | `<tag>:hold:probe` | string | nonce of the job that probes | one send deadline |
 * | `<tag>:workers` | sorted set | ids of worker processes by last heartbeat | trimmed by each heartbeat |
 * | `<tag>:worker:<id>` | hash | host, pid, version, jobs in flight | three heartbeats |
 */
export interface Keys {
  /** BullMQ's `prefix`; with {@link QUEUE_NAME} it makes the queue's keys. */
  readonly bullPrefix: string;
  /** BullMQ's rate-limit key: a hold sets it so that no worker fetches. */
  readonly limiter: string;
  readonly hold: string;
  readonly holdProbe: string;
  /** Channel: hints that a hold began, moved or ended. */
  readonly holdHints: string;
  readonly workers: string;
  worker(id: string): string;
  token(pair: string): TokenKeys;
}

/** Keys of one token slot. */
export interface TokenKeys {
  readonly current: string;
  readonly lock: string;
  readonly fence: string;
  readonly refused: string;
  readonly streak: string;
  readonly issued: string;
  /** Channel: hints that a token was stored or an issuance refused. */
  readonly hints: string;
}

/** Name of the BullMQ queue. The account is in the prefix. */
export const QUEUE_NAME = 'send';

/**
 * @param prefix REDIS_PREFIX, the namespace of this installation
 * @param account name of the account; there is one, `default`, until there are more
 */
export function keysOf(prefix: string, account: string): Keys {
  const tag = `{${prefix}:${account}}`;
  return {
    bullPrefix: tag,
    limiter: `${tag}:${QUEUE_NAME}:limiter`,
    hold: `${tag}:hold`,
    holdProbe: `${tag}:hold:probe`,
    holdHints: `${tag}:hold:hints`,
    workers: `${tag}:workers`,
    worker: (id) => `${tag}:worker:${id}`,
    token: (pair) => {
      const slot = `${tag}:token:${pair}`;
      return {
        current: `${slot}:current`,
        lock: `${slot}:lock`,
        fence: `${slot}:fence`,
        refused: `${slot}:refused`,
        streak: `${slot}:streak`,
        issued: `${slot}:issued`,
        hints: `${slot}:hints`,
      };
    },
  };
}

/**
 * Name of a key pair in keys and logs: a hash, never the access key. The API version is not part of
 * it: two records for one pair would throw each other's token out for ever.
 */
export function pairName(baseUrl: string, accessKey: string): string {
  return createHash('sha256').update(`${baseUrl}\n${accessKey}`).digest('hex').slice(0, 16);
}
