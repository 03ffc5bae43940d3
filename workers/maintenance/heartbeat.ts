import { monitorEventLoopDelay } from 'node:perf_hooks';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { Heartbeat } from '../../src/fleet/heartbeat.ts';
import { VERSION } from '../../src/contracts/version.ts';
import type { UnreadyReasons } from '../health/readiness.ts';

/** A process that does one thing for so long says so in its log: its locks and deadlines slip. */
const SLOW_LOOP_MS = 1_000;

/** How finely the event loop is watched. */
const RESOLUTION_MS = 20;

/** What a worker says of itself, every so often. */
export interface WorkerHeartbeat {
  /** What there is to say right now. */
  state(): Heartbeat;
  /**
   * Says it every `everyMs` from now on.
   *
   * @param say not called again while it is under way: then Redis does not answer
   */
  start(say: () => Promise<void>): void;
  stop(): void;
}

/**
 * Watches this process: how many jobs it holds, for how long its event loop was blocked, and whether
 * Redis answers.
 */
export function createHeartbeat(
  worker: { readonly id: string; readonly concurrency: number; readonly active: () => number },
  everyMs: number,
  readiness: UnreadyReasons,
  log: Logger,
): WorkerHeartbeat {
  const { id, concurrency } = worker;
  const startedAt = Date.now();
  const loop = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  loop.enable();
  let loopDelayMs = 0;
  let saying = false;
  let timer: NodeJS.Timeout | undefined;

  const tick = async (say: () => Promise<void>) => {
    loopDelayMs = Math.max(0, Math.round(loop.max / 1e6) - RESOLUTION_MS);
    loop.reset();
    const slow = loopDelayMs >= SLOW_LOOP_MS;
    if (slow) log.warn({ event: 'slow-loop', loopDelayMs });
    readiness.set('event-loop', slow);
    readiness.set('redis-away', saying);
    if (saying) return;
    saying = true;
    await say();
    saying = false;
    readiness.set('redis-away', false);
  };
  return {
    state: () => ({
      id,
      host: hostname(),
      pid: process.pid,
      version: VERSION,
      concurrency,
      active: worker.active(),
      startedAt,
      loopDelayMs,
      unready: readiness.reasons(),
    }),
    start: (say) => {
      timer ??= setInterval(() => void tick(say), everyMs);
    },
    stop: () => {
      clearInterval(timer);
      loop.disable();
    },
  };
}
