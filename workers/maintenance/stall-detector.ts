import type { Queue } from 'bullmq';
import type { Logger } from 'pino';
import { readHold } from '../../src/fleet/hold/hold-gate.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import type { UnreadyReasons } from '../health/readiness.ts';
import { CHUNK_QUEUE_NAME, QUEUE_NAME, type Keys } from '../../src/redis/keys.ts';
import { openBullQueue } from '../../src/redis/open-queue.ts';

/** What one look found. */
export interface StallObservation {
  /** Jobs this worker holds, and how many it has begun since it started. */
  readonly active: number;
  readonly begun: number;
  /** Jobs that any worker could take right now. */
  readonly waiting: number;
  /** The queue is held, or this worker takes no jobs on purpose. */
  readonly held: boolean;
}

/**
 * Whether a worker stands still without a reason: it holds nothing, has begun nothing since the last
 * look, and jobs waited at both looks although nothing holds them back.
 */
export function isStalled(before: StallObservation, now: StallObservation): boolean {
  const idle = now.active === 0 && now.begun === before.begun;
  return idle && before.waiting > 0 && now.waiting > 0 && !before.held && !now.held;
}

/** The worker that is watched: its jobs right now, how many it has begun, and whether it rests. */
export interface WatchedWorker {
  readonly active: () => number;
  readonly begun: () => number;
  /** It takes no jobs on purpose. */
  readonly resting: () => boolean;
}

/**
 * Watches that a worker goes on taking jobs. A connection that died in silence leaves a worker that
 * looks alive and takes nothing; only progress tells.
 *
 * Looks every third of `graceMs`. The first look that finds it standing still says so and makes it
 * unready; after `graceMs` of it `onStall` is called, once. Redis that is away is no stall: nothing
 * can be told then, and the count begins anew.
 *
 * @param onLook told at each look for how long the worker has stood still, in milliseconds
 */
export function startStallDetector(
  redis: RedisClient,
  keys: Keys,
  worker: WatchedWorker,
  graceMs: number,
  readiness: Pick<UnreadyReasons, 'set'>,
  log: Logger,
  onStall: () => void,
  onLook: (stillMs: number) => void = () => {},
): { stop(): Promise<void> } {
  const queues = ([QUEUE_NAME, CHUNK_QUEUE_NAME] as const).map((name) =>
    openBullQueue(name, redis, keys),
  );
  let before: StallObservation | undefined;
  let stillMs = 0;
  let lastAt = performance.now();

  const look = async (): Promise<void> => {
    const now = await lookAround(redis, keys, queues, worker);
    const at = performance.now();
    const still = before !== undefined && isStalled(before, now);
    if (still && stillMs === 0) log.warn({ event: 'standing-still', waiting: now.waiting });
    readiness.set('stalled', still);
    stillMs = still ? stillMs + (at - lastAt) : 0;
    before = now;
    lastAt = at;
    onLook(stillMs);
    if (stillMs < graceMs) return;
    clearInterval(timer);
    log.error({ event: 'stalled', waiting: now.waiting, stillMs: Math.round(stillMs) });
    onStall();
  };
  const timer = setInterval(() => {
    look().catch(() => {
      before = undefined;
      stillMs = 0;
      onLook(stillMs);
      readiness.set('stalled', false);
    });
  }, graceMs / 3);
  return {
    stop: async () => {
      clearInterval(timer);
      await Promise.all(queues.map((queue) => queue.close().catch(() => {})));
    },
  };
}

async function lookAround(
  redis: RedisClient,
  keys: Keys,
  queues: readonly Queue[],
  worker: WatchedWorker,
): Promise<StallObservation> {
  const [hold, ...answers] = await Promise.all([
    readHold(redis, keys),
    ...queues.map(async (queue) => {
      const paused = await queue.isPaused();
      return paused ? 0 : queue.getWaitingCount();
    }),
  ]);
  const waiting = answers.reduce((sum, count) => sum + count, 0);
  const held = hold !== undefined || worker.resting();
  return { active: worker.active(), begun: worker.begun(), waiting, held };
}
