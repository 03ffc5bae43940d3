import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { BackgroundService } from '../../async/lifecycle.ts';
import { withTimeout } from '../../async/with-timeout.ts';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { readWorkers } from '../../fleet/heartbeat.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { redisErrorFields } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';
import { AlertPoster } from './alert-poster.ts';
import { alertEvent, AlertStore } from './alert-store.ts';
import { judgeAlerts } from './judge-alerts.ts';
import { AlertCollector } from './alert-collector.ts';
import { Webhook } from './webhook.ts';

/** How alerts are detected and posted. */
export interface AlertSettings {
  /** ALERT_WEBHOOK_URL */
  readonly url: string;
  /** ALERT_WEBHOOK_SECRET */
  readonly secret: string;
  /** ALERT_QUIET_MS: shortest time between two reports that a condition started, in milliseconds. */
  readonly quietMs: number;
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
/** Limit for the last round and its posts when a process stops, in milliseconds. */
const LAST_ROUND_MS = 3_000;

/** Interval at which the last worker tries to get the lease of a process that is stopping. */
const LEASE_RETRY_MS = 50;

/**
 * Detects alerts and posts them to a webhook. Every process with alerts runs this; one of them leads,
 * by a lease in Redis, and the others only try to get the lease.
 *
 * One round of the leader: renew the lease, collect the state, judge it, store the alerts together with
 * what was reported so that none is lost, then post the outbox, oldest first. A failed post is retried
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
  const { quietMs, queue, keepFailedMs, everyMs = EVERY_MS, retryMs = RETRY_MS } = settings;
  const store = new AlertStore(redis, keys);
  const collector = new AlertCollector(redis, keys, keepFailedMs);
  const poster = new AlertPoster(store, new Webhook(settings), retryMs, log);
  let leading = false;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  /** Aborted when the time for the last round is over. */
  const late = new AbortController();

  const detect = async (leaving: boolean): Promise<void> => {
    const before = await store.memory();
    const seen = await collector.collect(before);
    const snapshot = leaving
      ? { ...seen, leaving }
      : { ...seen, workers: Math.max(seen.workers, isWorker ? 1 : 0) };
    const { alerts, memory } = judgeAlerts(before, snapshot, quietMs);
    const events = alerts.map((alert) => alertEvent(alert, queue, snapshot.now));
    if (!(await store.commit(memory, events))) {
      leading = false;
      return;
    }
    for (const { id, event, title } of events)
      log.warn({ event: 'alert', alert: event, id, title });
  };

  const round = async (): Promise<void> => {
    const led = leading;
    leading = await store.lead();
    if (!leading) return;
    if (!led) log.info({ event: 'alerts-led' });
    await detect(false);
    if (leading) await poster.postWaiting();
  };

  const trouble = (error: unknown) => {
    leading = false;
    const fields =
      error instanceof NoticeQueueError ? { code: error.code } : redisErrorFields(error);
    log.warn({ event: 'alert-trouble', ...fields });
  };

  const run = () => {
    running = round()
      .catch(trouble)
      .finally(() => {
        // Random, so that the processes of the fleet do not all ask at the same time.
        if (!stopped) timer = setTimeout(run, everyMs * (0.8 + Math.random() * 0.4));
      });
  };

  /** Makes the last worker of the fleet the leader, once the previous leader has dropped the lease. */
  const takeOver = async (): Promise<void> => {
    if (!isWorker || (await readWorkers(redis, keys)).length > 0) return;
    while (!leading && !late.signal.aborted) {
      leading = await store.lead();
      if (!leading) await pause(LEASE_RETRY_MS, undefined, { signal: late.signal });
    }
  };

  const lastRound = async (): Promise<void> => {
    await running;
    if (!leading) await takeOver();
    if (!leading) return;
    if (isWorker) await detect(true);
    await poster.postWaiting('now');
    await store.resign();
  };

  let started = false;
  return {
    start: () => {
      if (!started) run();
      started = true;
    },
    stop: async () => {
      if (stopped) return;
      stopped = true;
      clearTimeout(timer);
      // What is not finished in time, another process finds in Redis.
      if (started) await withTimeout(lastRound().catch(trouble), LAST_ROUND_MS, undefined);
      late.abort();
      await poster.close();
      await collector.close();
    },
  };
}
