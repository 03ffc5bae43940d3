import { monitorEventLoopDelay } from 'node:perf_hooks';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { BackgroundService } from '../../src/async/lifecycle.ts';
import type { Heartbeat } from '../../src/fleet/heartbeat.ts';
import { VERSION } from '../../src/contracts/version.ts';
import type { UnreadyReasons } from '../health/readiness.ts';

/** A process that does one thing for so long says so in its log: its locks and deadlines slip. */
const SLOW_LOOP_MS = 1_000;

/** How finely the event loop is watched. */
const RESOLUTION_MS = 20;

/** What the heartbeat of a worker consists of. */
export interface HeartbeatOptions {
  readonly id: string;
  /** Jobs that the process may run at the same time. */
  readonly concurrency: number;
  /** Jobs that it runs now. */
  readonly active: () => number;
  /** HEARTBEAT_MS */
  readonly everyMs: number;
  /** Records a heartbeat in Redis. Not called again while it runs: then Redis does not answer. */
  readonly record: () => Promise<void>;
  /** Deregisters the worker; called at the stop if the heartbeat was started. */
  readonly deregister: () => Promise<void>;
  readonly readiness: UnreadyReasons;
  readonly log: Logger;
}

/** The heartbeat of this process. */
export interface WorkerHeartbeat extends BackgroundService {
  /** What a heartbeat reports right now. */
  state(): Heartbeat;
}

/**
 * Watches this process: how many jobs it runs, for how long its event loop was blocked, and whether
 * Redis answers.
 */
export function createHeartbeat({
  id,
  concurrency,
  active,
  everyMs,
  record,
  deregister,
  readiness,
  log,
}: HeartbeatOptions): WorkerHeartbeat {
  const startedAt = Date.now();
  const loop = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  let loopDelayMs = 0;
  let recording = false;
  let timer: NodeJS.Timeout | undefined;

  const tick = async () => {
    loopDelayMs = Math.max(0, Math.round(loop.max / 1e6) - RESOLUTION_MS);
    loop.reset();
    const slow = loopDelayMs >= SLOW_LOOP_MS;
    if (slow) log.warn({ event: 'slow-loop', loopDelayMs });
    readiness.set('event-loop', slow);
    readiness.set('redis-away', recording);
    if (recording) return;
    recording = true;
    await record();
    recording = false;
    readiness.set('redis-away', false);
  };
  return {
    state: () => ({
      id,
      host: hostname(),
      pid: process.pid,
      version: VERSION,
      concurrency,
      active: active(),
      startedAt,
      loopDelayMs,
      unready: readiness.reasons(),
    }),
    start: () => {
      loop.enable();
      timer ??= setInterval(() => void tick(), everyMs);
    },
    stop: async () => {
      loop.disable();
      if (timer === undefined) return;
      clearInterval(timer);
      timer = undefined;
      await deregister();
    },
  };
}
