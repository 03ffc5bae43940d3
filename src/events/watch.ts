import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { BackgroundService } from '../async/lifecycle.ts';
import { repeat, withTimeout } from '../async/repeat.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisErrorFields, translated } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { redisTime } from '../redis/server-clock.ts';
import { storedJson } from '../redis/stored-json.ts';
import { endTurn, takeTurn } from '../redis/turns.ts';
import { judge, reportedConditions, type WatchedState } from './conditions.ts';
import { readAccountEvents } from './follow.ts';
import { Webhook, type WebhookSettings } from './webhook.ts';

/** How the account is watched, and its events are posted. */
export interface WatchOptions {
  readonly redis: RedisClient;
  readonly keys: Keys;
  readonly webhook: WebhookSettings;
  /** REDIS_PREFIX and ACCOUNT, with a colon between them. */
  readonly queue: string;
  /** Reads what is judged. */
  readonly look: () => Promise<WatchedState>;
  /** Whether it runs in a worker: the last one reports at its stop that none is left. */
  readonly isWorker: boolean;
  readonly log: Logger;
  /** Milliseconds between rounds. @default 1000 */
  readonly everyMs?: number;
  /** Delay after the first failed post, in milliseconds; doubles with each failure. @default 1000 */
  readonly retryMs?: number;
}

/** Names of the turn to watch and post, and of what changes with it: the reported conditions, and the last posted event. */
const [TURN, CONDITIONS, CURSOR] = ['events', 'events conditions', 'events cursor'] as const;
/** Duration of the turn in milliseconds: another process takes over within it when the leader dies. */
const TURN_MS = 30_000;

const EVERY_MS = 1_000;
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 300_000;
/** Events of one post. */
const EVENTS_PER_POST = 500;
/** Longest duration of the posts of a round, in milliseconds; shorter than the turn. */
const ROUND_MS = 8_000;
/** Limit for the last round when a process stops, in milliseconds. */
const LAST_ROUND_MS = 3_000;

/**
 * Watches the account and posts its events to the webhook. Every process with a webhook runs this; one of them leads,
 * by a turn in Redis, and the others only try to get it.
 *
 * One round of the leader: renew the turn, look, judge, append what was found to the stream, post what is new in it.
 * The cursor in Redis is behind the last event that the receiver took. A post that it does not take is repeated with
 * growing delays until it does, and later events wait in the stream.
 */
export function createEventWatch(options: WatchOptions): BackgroundService {
  const { redis, keys, queue, look, isWorker, log } = options;
  const { everyMs = EVERY_MS, retryMs = RETRY_MS } = options;
  const nonce = randomUUID();
  const webhook = new Webhook(options.webhook, queue);
  let leading = false;
  let failures = 0;
  let notBefore = 0;

  const lead = async (): Promise<boolean> => {
    const led = leading;
    leading = await takeTurn(redis, keys, TURN, nonce, TURN_MS);
    if (leading && !led) log.info({ event: 'events-led' });
    return leading;
  };

  const detect = async (leaving: boolean): Promise<void> => {
    const seen = await look();
    // The heartbeat of this worker may not be there yet.
    const length = leaving ? seen.workers.length : Math.max(seen.workers.length, isWorker ? 1 : 0);
    const before = await stored(redis, keys, CONDITIONS);
    const { findings, conditions } = judge(storedJson(reportedConditions, before) ?? {}, {
      ...seen,
      workers: { length },
      leaving,
    });
    const texts = findings.map((one) => JSON.stringify(one));
    const value = JSON.stringify(conditions);
    // In one step: no finding is lost or reported twice when the leader changes.
    const change = { field: CONDITIONS, before, value, findings: texts };
    leading = await takeTurn(redis, keys, TURN, nonce, TURN_MS, change);
    if (!leading) return;
    for (const finding of findings)
      log.warn({ ...finding, event: 'watch', finding: finding.event });
  };

  /** Posts one page. @returns whether there can be more */
  const postPage = async (): Promise<boolean> => {
    const last = await stored(redis, keys, CURSOR);
    const before = last === '' ? '0' : last;
    const { events, cursor } = await readAccountEvents(redis, keys, before, EVENTS_PER_POST);
    if (cursor === before) return false;
    // Where the last one was deleted, later ones may have been, too.
    const missed =
      before !== '0' && (await translated(redis.xrange(keys.events, before, before))).length === 0;
    const posted = events.length === 0 ? undefined : await webhook.post({ events, missed });
    if (posted?.taken === false) {
      const delayMs = Math.min(retryMs * 2 ** failures, MAX_RETRY_MS);
      failures += 1;
      // Half of it fixed, the other half random.
      notBefore = performance.now() + delayMs * (0.5 + Math.random() / 2);
      log.warn({ event: 'events-not-taken', code: posted.why, failures, cursor: before });
      return false;
    }
    failures = 0;
    if (missed) log.error({ event: 'events-missed', after: before });
    const change = { field: CURSOR, before: last, value: cursor };
    return takeTurn(redis, keys, TURN, nonce, TURN_MS, change);
  };

  const post = async (isLast: boolean): Promise<void> => {
    const startedAt = performance.now();
    if (!isLast && startedAt < notBefore) return;
    while ((await postPage()) && performance.now() - startedAt < ROUND_MS) await lead();
  };

  const round = async (): Promise<void> => {
    if (!(await lead())) return;
    await detect(false);
    await post(false);
  };

  const trouble = (error: unknown) => {
    leading = false;
    log.warn({ event: 'events-trouble', ...redisErrorFields(error) });
  };
  const rounds = repeat(() => round().catch(trouble), everyMs);

  const lastRound = async (): Promise<void> => {
    await rounds.stop();
    if (!(await lead())) return;
    if (isWorker) await detect(true);
    await post(true);
    await endTurn(redis, keys, TURN, nonce, 0);
  };

  let started = false;
  let stopped = false;
  return {
    start: () => {
      if (started) return;
      started = true;
      rounds.start();
    },
    stop: async () => {
      if (stopped) return;
      stopped = true;
      // What is not finished in time, another process finds in Redis.
      if (started) await withTimeout(lastRound().catch(trouble), LAST_ROUND_MS, undefined);
      await webhook.close();
    },
  };
}

/** Sets the cursor by hand: the events after it are posted again. @returns whether a process with a webhook runs */
export async function postAgain(redis: RedisClient, keys: Keys, cursor: string): Promise<boolean> {
  await translated(redis.hset(keys.turns, CURSOR, cursor));
  const ends = Number.parseInt(await stored(redis, keys, TURN), 10);
  return ends > (await translated(redisTime(redis)));
}

const stored = async (redis: RedisClient, { turns }: Keys, field: string): Promise<string> =>
  (await translated(redis.hget(turns, field))) ?? '';
