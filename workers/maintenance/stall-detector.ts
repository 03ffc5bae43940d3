import type { Queue } from 'bullmq';
import type { Logger } from 'pino';
import type { BackgroundService } from '../../src/async/lifecycle.ts';
import { repeat } from '../../src/async/repeat.ts';
import { readHold } from '../../src/fleet/hold/holds.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import type { UnreadyReasons } from '../health/readiness.ts';
import { CHUNK_QUEUE_NAME, QUEUE_NAME, type Keys } from '../../src/redis/keys.ts';
import { openBullQueue } from '../../src/redis/open-queue.ts';

interface StallObservation {
  /** It has a job in progress, or the result of one that Redis has not recorded: lost if the process ended. */
  readonly busy: boolean;
  readonly started: number;
  /** Jobs that any worker could take now. */
  readonly waiting: number;
  /** The queue is held, or this worker takes no jobs on purpose. */
  readonly held: boolean;
}

/**
 * Whether a worker is stalled: it is not busy, has started no job since the last observation, and jobs waited
 * at both observations although nothing holds them back.
 */
function isStalled(before: StallObservation, now: StallObservation): boolean {
  const idle = !now.busy && now.started === before.started;
  return idle && before.waiting > 0 && now.waiting > 0 && !before.held && !now.held;
}

export interface WatchedWorker {
  readonly busy: () => boolean;
  readonly started: () => number;
  /** It takes no jobs on purpose. */
  readonly resting: () => boolean;
}

export interface StallDetectorOptions {
  readonly redis: RedisClient;
  readonly keys: Keys;
  readonly worker: WatchedWorker;
  readonly graceMs: number;
  readonly readiness: Pick<UnreadyReasons, 'set'>;
  readonly log: Logger;
  /** Called once for each stall, after `graceMs` of it. */
  readonly onStall: () => void;
  /** Called at each check with the duration of the stall so far, in milliseconds. */
  readonly onCheck: (stalledMs: number) => void;
}

/**
 * Detects a worker that no longer takes jobs. After a connection died silently a worker seems alive but
 * takes none; only progress proves that it works.
 *
 * Checks every third of `graceMs`. The first check that finds a stall logs it and makes the worker
 * unready; after `graceMs` of stall `onStall` is called, once. A worker that takes jobs again is ready again. While
 * Redis is unavailable nothing is known, and the count restarts.
 */
export function createStallDetector({
  redis,
  keys,
  worker,
  graceMs,
  readiness,
  log,
  onStall,
  onCheck,
}: StallDetectorOptions): BackgroundService {
  const queues = ([QUEUE_NAME, CHUNK_QUEUE_NAME] as const).map((name) =>
    openBullQueue(name, redis, keys),
  );
  let before: StallObservation | undefined;
  let stalledMs = 0;
  let lastAt = performance.now();

  const check = async (): Promise<void> => {
    const askedAt = performance.now();
    const now = await observe(redis, keys, queues, worker);
    const at = performance.now();
    // Redis was away: nothing is known of that time.
    if (at - askedAt > graceMs / 3) before = undefined;
    const stalled = before !== undefined && isStalled(before, now);
    if (stalled && stalledMs === 0) log.warn({ event: 'standing-still', waiting: now.waiting });
    readiness.set('stalled', stalled);
    const isReported = stalledMs >= graceMs;
    stalledMs = stalled ? stalledMs + (at - lastAt) : 0;
    before = now;
    lastAt = at;
    onCheck(stalledMs);
    if (stalledMs < graceMs || isReported) return;
    log.error({ event: 'stalled', waiting: now.waiting, stillMs: Math.round(stalledMs) });
    onStall();
  };
  const checks = repeat(
    () =>
      check().catch(() => {
        before = undefined;
        stalledMs = 0;
        onCheck(stalledMs);
        readiness.set('stalled', false);
      }),
    graceMs / 3,
  );
  return {
    start: () => checks.start(),
    stop: async () => {
      // Redis may not answer the one that is under way.
      void checks.stop();
      await Promise.all(queues.map((queue) => queue.close().catch(() => {})));
    },
  };
}

async function observe(
  redis: RedisClient,
  keys: Keys,
  queues: readonly Queue[],
  worker: WatchedWorker,
): Promise<StallObservation> {
  const [hold, ...answers] = await Promise.all([
    readHold(redis, keys),
    ...queues.map(async (queue) => {
      const paused = await queue.isPaused();
      // Jobs with a priority wait in a set of their own.
      return paused ? 0 : queue.getJobCountByTypes('waiting', 'prioritized');
    }),
  ]);
  const waiting = answers.reduce((sum, count) => sum + count, 0);
  const held = hold !== undefined || worker.resting();
  return { busy: worker.busy(), started: worker.started(), waiting, held };
}
