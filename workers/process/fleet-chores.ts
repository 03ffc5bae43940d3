import type { Logger } from 'pino';
import type { BackgroundService } from '../../src/async/lifecycle.ts';
import type { WorkerConfig } from '../../src/config/config.ts';
import { trimEvents } from '../../src/events/announce.ts';
import { createChores, type Chore } from '../../src/ops/chores/chores.ts';
import { deleteEnded } from '../../src/ops/chores/delete-ended.ts';
import { acceptOldUnknown } from '../../src/ops/chores/accept-old.ts';
import type { EntrySource } from '../../src/ops/entries.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import type { Keys } from '../../src/redis/keys.ts';
import { KEEP_ACCEPTED_COUNT } from '../queue/send-worker.ts';
import type { AttemptLog } from '../send/attempt-log.ts';

/** Intervals in milliseconds. */
const ACCEPT_UNKNOWN_MS = 30_000;
const DELETE_ENDED_MS = 480_000;
const TRIM_EVENTS_MS = 10_000;

/**
 * What one worker of the fleet does at intervals: it counts old unknown outcomes as accepted, and deletes ended jobs
 * whose time is over, and the oldest events.
 */
export function createFleetChores(
  context: EntrySource,
  config: WorkerConfig,
  log: Logger,
): BackgroundService {
  const { redis, keys } = context;
  const { unknownAcceptedAfterMs: acceptedAfterMs, noticeEvents } = config;
  const chores: Chore[] = [
    {
      name: 'delete-ended',
      everyMs: DELETE_ENDED_MS,
      run: (signal) => deleteEnded(redis, keys, config, signal),
    },
    {
      name: 'trim-events',
      everyMs: TRIM_EVENTS_MS,
      run: () => trimEvents(redis, keys, noticeEvents),
    },
  ];
  if (acceptedAfterMs !== undefined) {
    chores.push({
      name: 'accept-unknown',
      everyMs: ACCEPT_UNKNOWN_MS,
      run: async (signal) => {
        const { done = 0, contacts = 0 } =
          (await acceptOldUnknown(context, acceptedAfterMs, signal)) ?? {};
        if (done > 0) log.info({ event: 'unknown-accepted', done, contacts });
      },
    });
  }
  return createChores(context, chores, log);
}

/**
 * Stores how long this worker keeps ended notices, how many events of them, and its sending hours, so that look-ups
 * and manual actions need no configuration of the workers. An error is logged and changes nothing else.
 */
export async function storeOwnRetention(
  redis: RedisClient,
  { account }: Keys,
  { keepAcceptedMs, keepFailedMs, noticeEvents, sendWindows = '' }: WorkerConfig,
  log: Pick<AttemptLog, 'trouble'>,
): Promise<void> {
  const kept = {
    acceptedMs: keepAcceptedMs,
    acceptedCount: KEEP_ACCEPTED_COUNT,
    failedMs: keepFailedMs,
    events: noticeEvents,
    sendWindows,
  };
  await redis.hset(account, kept).catch((error: unknown) => log.trouble('retention', error));
}
