import { hostname } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { BackgroundService } from '../../src/async/lifecycle.ts';
import { VERSION } from '../../src/contracts/version.ts';
import type { Heartbeat } from '../../src/fleet/heartbeat.ts';
import { pairName } from '../../src/redis/keys.ts';
import type { WorkerBasis } from './worker-basis.ts';

/** An event loop that is blocked for this long is logged: locks and deadlines slip. */
const SLOW_LOOP_MS = 1_000;

const RESOLUTION_MS = 20;

/** The heartbeats of a worker, one every `heartbeatMs`. */
export interface WorkerHeartbeat extends BackgroundService {
  state(): Heartbeat;
}

interface HeartbeatSource {
  readonly concurrency: number;
  readonly active: () => number;
  /** Milliseconds since its last acceptance; infinite where there was none. */
  readonly acceptedAgoMs: () => number;
  /** What was sent since it was asked last. */
  readonly takeSent: () => Heartbeat['sent'];
}

/**
 * Measures this process for its heartbeats: jobs in progress, how long the event loop was blocked, and
 * whether Redis answers.
 * @param send not called again while a call is pending: then Redis does not answer
 * @param deregister called at the stop, if the heartbeats were started
 */
export function createHeartbeat(
  { id, config, readiness, log }: Pick<WorkerBasis, 'id' | 'config' | 'readiness' | 'log'>,
  { concurrency, active, acceptedAgoMs, takeSent }: HeartbeatSource,
  send: () => Promise<void>,
  deregister: () => Promise<void>,
): WorkerHeartbeat {
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
      timer ??= setInterval(() => void tick(), config.worker.heartbeatMs);
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
