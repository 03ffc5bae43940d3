import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { BackgroundService } from '../../async/lifecycle.ts';
import { withTimeout } from '../../async/with-timeout.ts';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { readWorkers } from '../../fleet/heartbeat.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { redisErrorCode } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';
import { AlertPoster } from './alert-poster.ts';
import { alertEvent, AlertStore } from './alert-store.ts';
import { judgeAlerts } from './judge-alerts.ts';
import { AlertCollector } from './alert-collector.ts';
import { Webhook } from './webhook.ts';

/** How alerts are looked for and posted; milliseconds. */
export interface AlertSettings {
  readonly url: string;
  readonly secret: string;
  /** ALERT_QUIET_MS */
  readonly quietMs: number;
  /** KEEP_FAILED_MS */
  readonly keepFailedMs: number;
  /** REDIS_PREFIX and ACCOUNT, with a colon between them: names the queue to the receiver. */
  readonly queue: string;
  /** @default 5000 */
  readonly everyMs?: number;
  /** Wait after the first post that was not taken; it doubles with each. @default 1000 */
  readonly retryMs?: number;
}

const EVERY_MS = 5_000;
const RETRY_MS = 1_000;
/** A process that stops takes a last look, and posts what it told, for so long at most. */
const LAST_LOOK_MS = 3_000;

/** How often the last worker asks for the lease of one that is about to let go of it. */
const LEASE_PAUSE_MS = 50;

/**
 * Looks for what people must know of and posts it to a webhook. Every process that may do it runs this;
 * one of them leads, by a lease in Redis, and the others only ask for it.
 *
 * One round of the leader: it keeps its lease, looks, judges, and commits what is to be told together
 * with what was told, so that nothing is lost with it; then it posts what waits, the oldest first. What
 * is not taken is tried again with growing pauses, under the same id, for a day.
 *
 * @param isWorker it runs in a worker: then there is one, and the last of a fleet says that it goes
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
  const lookout = new AlertCollector(redis, keys, keepFailedMs);
  const poster = new AlertPoster(store, new Webhook(settings), retryMs, log);
  let leading = false;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  /** The time for the last look is over. */
  const late = new AbortController();

  const lookAndTell = async (leaving: boolean): Promise<void> => {
    const before = await store.memory();
    const seen = await lookout.collect(before);
    const sight = leaving
      ? { ...seen, leaving }
      : { ...seen, workers: Math.max(seen.workers, isWorker ? 1 : 0) };
    const { alerts, memory } = judgeAlerts(before, sight, quietMs);
    const events = alerts.map((alert) => alertEvent(alert, queue, sight.now));
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
    await lookAndTell(false);
    if (leading) await poster.postWaiting();
  };

  const trouble = (error: unknown) => {
    leading = false;
    const code = error instanceof NoticeQueueError ? error.code : redisErrorCode(error);
    log.warn({ event: 'alert-trouble', code });
  };

  const run = () => {
    running = round()
      .catch(trouble)
      .finally(() => {
        // Spread over the fleet, so that its processes do not all ask at once.
        if (!stopped) timer = setTimeout(run, everyMs * (0.8 + Math.random() * 0.4));
      });
  };

  /** The last worker of a fleet leads, once whoever led before has let go. */
  const takeOver = async (): Promise<void> => {
    if (!isWorker || (await readWorkers(redis, keys)).length > 0) return;
    while (!leading && !late.signal.aborted) {
      leading = await store.lead();
      if (!leading) await pause(LEASE_PAUSE_MS, undefined, { signal: late.signal });
    }
  };

  const lastLook = async (): Promise<void> => {
    await running;
    if (!leading) await takeOver();
    if (!leading) return;
    if (isWorker) await lookAndTell(true);
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
      // What it does not get done in time, another process finds in Redis.
      if (started) await withTimeout(lastLook().catch(trouble), LAST_LOOK_MS, undefined);
      late.abort();
      await poster.close();
      await lookout.close();
    },
  };
}
