import { monitorEventLoopDelay } from 'node:perf_hooks';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { Heartbeat } from '../../src/fleet/heartbeat.ts';
import { VERSION } from '../../src/contracts/version.ts';
import type { UnreadyReasons } from '../health/readiness.ts';

/** An event loop that is blocked for this long is logged: locks and deadlines slip. */
const SLOW_LOOP_MS = 1_000;

/** Resolution of the measurement of the event loop. */
const RESOLUTION_MS = 20;

/** The heartbeats of a worker. */
export interface WorkerHeartbeat {
  /** The present state. */
  state(): Heartbeat;
  /**
   * Sends a heartbeat every `everyMs` from now on.
   *
   * @param send not called again while a call is pending: then Redis does not answer
   */
  start(send: () => Promise<void>): void;
  /** Ends the heartbeats and the measurement. */
  stop(): void;
}

/**
 * Measures this process for its heartbeats: jobs in progress, how long the event loop was blocked, and
 * whether Redis answers.
 *
 * @param everyMs HEARTBEAT_MS
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
  let sending = false;
  let timer: NodeJS.Timeout | undefined;

  const tick = async (send: () => Promise<void>) => {
    loopDelayMs = Math.max(0, Math.round(loop.max / 1e6) - RESOLUTION_MS);
    loop.reset();
    const slow = loopDelayMs >= SLOW_LOOP_MS;
    if (slow) log.warn({ event: 'slow-loop', loopDelayMs });
    readiness.set('event-loop', slow);
    readiness.set('redis-away', sending);
    if (sending) return;
    sending = true;
    await send();
    sending = false;
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
    start: (send) => {
      timer ??= setInterval(() => void tick(send), everyMs);
    },
    stop: () => {
      clearInterval(timer);
      loop.disable();
    },
  };
}
