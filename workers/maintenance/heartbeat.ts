import { monitorEventLoopDelay } from 'node:perf_hooks';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { BackgroundService } from '../../src/async/lifecycle.ts';
import type { Heartbeat } from '../../src/fleet/heartbeat.ts';
import { pairName } from '../../src/redis/keys.ts';
import { VERSION } from '../../src/contracts/version.ts';
import type { UnreadyReasons } from '../health/readiness.ts';

/** An event loop that is blocked for this long is logged: locks and deadlines slip. */
const SLOW_LOOP_MS = 1_000;

/** Resolution of the measurement of the event loop. */
const RESOLUTION_MS = 20;

/** Options of {@link createHeartbeat}. */
export interface HeartbeatOptions {
  readonly id: string;
  readonly config: {
    /** Of the variables in which workers should agree. */
    readonly digests: Heartbeat['settings'] & {};
    readonly service: Parameters<typeof pairName>[0];
  };
  /** Jobs that the process may run at the same time. */
  readonly concurrency: number;
  /** Jobs in progress. */
  readonly active: () => number;
  /** Milliseconds since its last acceptance; infinite where there was none. */
  readonly acceptedAgoMs: () => number;
  /** HEARTBEAT_MS */
  readonly everyMs: number;
  /** What was sent since it was asked last. */
  readonly takeSent: () => Heartbeat['sent'];
  /** Sends a heartbeat. Not called again while a call is pending: then Redis does not answer. */
  readonly send: () => Promise<void>;
  /** Deregisters the worker; called at the stop, if the heartbeats were started. */
  readonly deregister: () => Promise<void>;
  readonly readiness: UnreadyReasons;
  readonly log: Logger;
}

/** The heartbeats of a worker, one every `everyMs`. */
export interface WorkerHeartbeat extends BackgroundService {
  /** The present state. */
  state(): Heartbeat;
}

/**
 * Measures this process for its heartbeats: jobs in progress, how long the event loop was blocked, and
 * whether Redis answers.
 */
export function createHeartbeat({
  id,
  config,
  concurrency,
  active,
  acceptedAgoMs,
  everyMs,
  takeSent,
  send,
  deregister,
  readiness,
  log,
}: HeartbeatOptions): WorkerHeartbeat {
  const startedAt = Date.now();
  const loop = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  let loopDelayMs = 0;
  let sent: Heartbeat['sent'];
  let sending = false;
  let timer: NodeJS.Timeout | undefined;

  const tick = async () => {
    loopDelayMs = Math.max(0, Math.round(loop.max / 1e6) - RESOLUTION_MS);
    loop.reset();
    sent = takeSent();
    const slow = loopDelayMs >= SLOW_LOOP_MS;
    if (slow) log.warn({ event: 'slow-loop', loopDelayMs });
    readiness.set('event-loop', slow);
    if (sending) {
      readiness.set('redis-away', true);
      return;
    }
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
      pair: pairName(config.service),
      concurrency,
      settings: config.digests,
      active: active(),
      startedAt,
      loopDelayMs,
      // JSON has no infinity.
      ...(Number.isFinite(acceptedAgoMs()) ? { acceptedAgoMs: Math.round(acceptedAgoMs()) } : {}),
      sent,
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
