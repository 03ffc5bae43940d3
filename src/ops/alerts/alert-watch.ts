import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { BackgroundService } from '../../async/lifecycle.ts';
import { repeat } from '../../async/repeat.ts';
import { withTimeout } from '../../async/with-timeout.ts';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { readWorkers } from '../../fleet/heartbeat.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { redisErrorFields } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';
import { lastCursor } from '../../redis/read-events.ts';
import { AlertCollector } from './alert-collector.ts';
import { AlertPoster } from './alert-poster.ts';
import { alertEvent, AlertStore, type AlertReceivers } from './alert-store.ts';
import { forwardEnds } from './forward-ends.ts';
import { judgeAlerts } from './judge-alerts.ts';
import { Outbox } from './outbox.ts';
import { Webhook, type WebhookSettings } from './webhook.ts';

/** How alerts are detected and posted. */
export interface AlertSettings {
  /** ALERT_WEBHOOK_* and EVENT_WEBHOOK_*; at least one. */
  readonly webhooks: AlertReceivers<WebhookSettings>;
  /** ALERT_QUIET_MS: shortest time between two reports that a condition started, in milliseconds. */
  readonly quietMs: number;
  /** ALERT_FAILED_NOTICES and ALERT_FAILED_PERCENT; 0 for none. */
  readonly failedNotices: number;
  readonly failedPercent: number;
  /** KEEP_FAILED_MS, in milliseconds. */
  readonly keepFailedMs: number;
  /** REDIS_PREFIX and ACCOUNT, with a colon between them: names the queue to the receiver. */
  readonly queue: string;
  /** Milliseconds between rounds. @default 5000 */
  readonly everyMs?: number;
  /** Delay after the first failed post, in milliseconds; doubles with each failure. @default 1000 */
  readonly retryMs?: number;
}

const EVERY_MS = 5_000;
const RETRY_MS = 1_000;
/** Milliseconds between looks at the outboxes, and with an event webhook also at what is new. */
const POST_EVERY_MS = 1_000;
const EVENTS_EVERY_MS = 250;
/** Limit for the last round when a process stops, and for its posts, in milliseconds. */
const LAST_ROUND_MS = 3_000;
const LAST_POSTS_MS = 1_000;

/** Interval at which the last worker tries to get the lease of a process that is stopping. */
const LEASE_RETRY_MS = 50;

/**
 * Detects alerts and posts them to webhooks. Every process with alerts runs this; one of them leads,
 * by a lease in Redis, and the others only try to get the lease.
 *
 * One round of the leader: renew the lease, collect the state, judge it, store the alerts together with
 * what was reported so that none is lost. Beside the rounds it forwards the ends of notices and posts each
 * outbox, oldest first, so that a webhook that does not answer delays nothing else. A failed post is retried
 * with growing delays and the same id for a day.
 *
 * @param isWorker whether it runs in a worker: then at least one is live, and the last worker of the
 *   fleet reports that none is left
 */
export function createAlertWatch(
  redis: RedisClient,
  keys: Keys,
  settings: AlertSettings,
  log: Logger,
  isWorker: boolean,
): BackgroundService {
  const { webhooks, queue, keepFailedMs, everyMs = EVERY_MS, retryMs = RETRY_MS } = settings;
  const store = new AlertStore(redis, keys);
  const collector = new AlertCollector(redis, keys, keepFailedMs);
  const posters = (['alerts', 'events'] as const).flatMap((name) => {
    const webhook = webhooks[name];
    if (webhook === undefined) return [];
    const outbox = new Outbox(redis, keys[name]);
    return [new AlertPoster(outbox, new Webhook(webhook), retryMs, log.child({ webhook: name }))];
  });
  let leading = false;
  let stopped = false;
  /** Aborted when the time for the last round is over. */
  const late = new AbortController();

  const detectOnce = async (leaving: boolean): Promise<void> => {
    const before = await store.memory();
    const seen = await collector.collect(before);
    const snapshot = leaving
      ? { ...seen, leaving }
      : { ...seen, workers: Math.max(seen.workers, isWorker ? 1 : 0) };
    const { alerts, memory } = judgeAlerts(before, snapshot, settings);
    const events = alerts.map((alert) => alertEvent(alert, queue, snapshot.now));
    const dropped = await store.commit(memory, events, webhooks);
    if (dropped === undefined) {
      leading = false;
      return;
    }
    if (dropped > 0) log.error({ event: 'alerts-dropped', dropped });
    for (const { id, event, title } of events)
      log.warn({ event: 'alert', alert: event, id, title });
  };

  let detecting: Promise<void> = Promise.resolve();
  /** One at a time: each reads what the one before has stored. */
  const detect = (leaving: boolean): Promise<void> => {
    detecting = detecting.catch(() => {}).then(() => detectOnce(leaving));
    return detecting;
  };

  const round = async (): Promise<void> => {
    const led = leading;
    leading = await store.lead();
    if (!leading) return;
    if (!led) log.info({ event: 'alerts-led' });
    await detect(false);
  };

  let isFull = false;
  const forward = async (): Promise<void> => {
    if (webhooks.events === undefined) return;
    const forwarded = await forwardEnds({ redis, keys, store, queue, log });
    if (forwarded === 'full' && !isFull) log.error({ event: 'event-outbox-full' });
    isFull = forwarded === 'full';
  };

  /** The newest event of a batch, and the start of the hold, at the last look. */
  let lastSeen: string | undefined;
  /** For a program, the end of a batch and a hold do not wait for the next round. */
  const detectEarly = async (): Promise<void> => {
    if (webhooks.events === undefined) return;
    const [event, since] = await Promise.all([
      lastCursor(redis, keys.batchEvents),
      redis.hget(keys.hold, 'since'),
    ]);
    const seen = `${event} ${since ?? ''}`;
    if (lastSeen !== undefined && seen !== lastSeen) await detect(false);
    lastSeen = seen;
  };

  const logged = (error: unknown) => {
    const fields =
      error instanceof NoticeQueueError ? { code: error.code } : redisErrorFields(error);
    log.warn({ event: 'alert-trouble', ...fields });
  };
  const trouble = (error: unknown) => {
    leading = false;
    logged(error);
  };

  const rounds = repeat(() => round().catch(trouble), everyMs);
  const besideMs = Math.min(
    everyMs,
    webhooks.events === undefined ? POST_EVERY_MS : EVENTS_EVERY_MS,
  );
  const whileLeading = (work: () => Promise<void>) =>
    repeat(async () => {
      if (leading) await work().catch(logged);
    }, besideMs);
  const posts = posters.map((poster) => () => poster.postWaiting());
  const beside = [forward, detectEarly, ...posts].map(whileLeading);

  /** Makes the last worker of the fleet the leader, once the previous leader has dropped the lease. */
  const takeOver = async (): Promise<void> => {
    if (!isWorker || (await readWorkers(redis, keys)).length > 0) return;
    while (!leading && !late.signal.aborted) {
      leading = await store.lead();
      if (!leading) await pause(LEASE_RETRY_MS, undefined, { signal: late.signal });
    }
  };

  const lastRound = async (): Promise<void> => {
    await rounds.stop();
    if (!leading) await takeOver();
    if (!leading) return;
    if (isWorker) await detect(true);
    await forward();
    const posted = Promise.all(posters.map((poster) => poster.postWaiting('now')));
    await withTimeout(posted, LAST_POSTS_MS, undefined);
    await store.resign();
  };

  let started = false;
  return {
    start: () => {
      if (started) return;
      started = true;
      for (const service of [rounds, ...beside]) service.start();
    },
    stop: async () => {
      if (stopped) return;
      stopped = true;
      const besideStopped = Promise.all(beside.map((service) => service.stop()));
      // What is not finished in time, another process finds in Redis.
      if (started) await withTimeout(lastRound().catch(trouble), LAST_ROUND_MS, undefined);
      late.abort();
      for (const poster of posters) await poster.close();
      await withTimeout(besideStopped, LEASE_RETRY_MS, undefined);
      await collector.close();
    },
  };
}
