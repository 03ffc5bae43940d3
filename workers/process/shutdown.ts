import { setTimeout as pause } from 'node:timers/promises';
import type { Worker } from 'bullmq';
import type { RedisClient } from '../../src/redis/connect.ts';
import type { InFlight } from '../queue/in-flight.ts';

/** Redis that has not answered for so long does not hear a goodbye either. */
const ANSWER_MS = 2_000;
const LOOK_EVERY_MS = 200;

/** With nothing under way a close takes milliseconds, unless BullMQ waits for what never comes. */
const IDLE_MS = 3_000;

/**
 * Closes the workers: what is being sent finishes, and what became of it is told to Redis.
 *
 * BullMQ waits without end for a Redis that is away or frozen, and for a blocking connection that was
 * lost before the close, also when Redis is back. Where nothing is under way and nothing known is left
 * to tell, there is nothing to wait for, and this resolves; else it waits, for Redis may come back,
 * until the time to stop runs out (stop-signals.ts).
 */
export async function closeWorkers(
  workers: readonly Worker[],
  inFlight: Pick<InFlight, 'busy'>,
  redis: RedisClient,
): Promise<void> {
  const closed = new AbortController();
  const closing = Promise.all(workers.map((worker) => worker.close())).finally(() =>
    closed.abort(),
  );
  await Promise.race([closing, untilPointless(inFlight, redis, closed.signal)]);
}

async function untilPointless(
  inFlight: Pick<InFlight, 'busy'>,
  redis: RedisClient,
  closed: AbortSignal,
): Promise<void> {
  let idleSince: number | undefined;
  while (!closed.aborted) {
    if (inFlight.busy) idleSince = undefined;
    else {
      idleSince ??= performance.now();
      if (performance.now() - idleSince > IDLE_MS) return;
      if (!(await answers(redis)) && !inFlight.busy) return;
    }
    await pause(LOOK_EVERY_MS, undefined, { signal: closed }).catch(() => {});
  }
}

async function answers(redis: RedisClient): Promise<boolean> {
  return atMost(
    ANSWER_MS,
    redis.ping().then(
      () => true,
      () => false,
    ),
    false,
  );
}

/** What a step answers, or `otherwise` once it has taken too long; it goes on by itself then. */
async function atMost<Result>(
  ms: number,
  step: Promise<Result>,
  otherwise: Result,
): Promise<Result> {
  const over = new AbortController();
  try {
    return await Promise.race([step, pause(ms, otherwise, { signal: over.signal })]);
  } finally {
    over.abort();
  }
}

/** A step of a stop that Redis may never answer. */
export async function briefly(step: Promise<unknown>): Promise<void> {
  await atMost(
    ANSWER_MS,
    step.then(
      () => {},
      () => {},
    ),
    undefined,
  );
}
