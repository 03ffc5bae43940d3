import { monitorEventLoopDelay } from 'node:perf_hooks';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { beat, endHeartbeat } from '../src/queue/heartbeat.ts';
import type { RedisClient } from '../src/redis/connect.ts';
import { redisErrorWord } from '../src/redis/failure.ts';
import type { Keys } from '../src/redis/keys.ts';
import { VERSION } from '../src/version.ts';

/** A process that does one thing for so long says so in its log: its locks and deadlines slip. */
const SLOW_LOOP_MS = 1_000;

/** How finely the event loop is watched. */
const RESOLUTION_MS = 20;

/**
 * Says every `everyMs` that this worker lives, how many jobs it holds and for how long its event
 * loop was blocked; a stop says goodbye.
 */
export function startHeart(
  redis: RedisClient,
  keys: Keys,
  worker: { readonly id: string; readonly concurrency: number; readonly active: () => number },
  everyMs: number,
  log: Logger,
): { stop(): Promise<void> } {
  const { id, concurrency } = worker;
  const startedAt = Date.now();
  const loop = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  loop.enable();
  const tick = () => {
    const loopDelayMs = Math.max(0, Math.round(loop.max / 1e6) - RESOLUTION_MS);
    loop.reset();
    if (loopDelayMs >= SLOW_LOOP_MS) log.warn({ event: 'slow-loop', loopDelayMs });
    const self = { id, host: hostname(), pid: process.pid, version: VERSION, concurrency };
    beat(redis, keys, { ...self, active: worker.active(), startedAt, loopDelayMs }, everyMs).catch(
      (error: unknown) => log.warn({ event: 'heartbeat-trouble', code: redisErrorWord(error) }),
    );
  };
  tick();
  const timer = setInterval(tick, everyMs);
  return {
    stop: async () => {
      clearInterval(timer);
      loop.disable();
      await endHeartbeat(redis, keys, id).catch(() => {});
    },
  };
}
