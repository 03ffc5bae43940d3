import type { Logger } from 'pino';
import { MISSED_HEARTBEATS } from '../../src/fleet/heartbeat.ts';
import type { HoldSettings } from '../../src/fleet/hold/hold-gate.ts';
import { addRefusedWorker, removeRefusedWorker } from '../../src/fleet/refused-workers.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import type { Keys } from '../../src/redis/keys.ts';
import type { UnreadyReasons } from '../health/readiness.ts';
import { WorkerRefusal } from '../send/worker-refusal.ts';

const REFUSED_WORDS =
  'the service refuses this worker, and not every one: compare its key pair and address with those of the others';

/** What the refusal of a worker needs. */
export interface RefusalOptions {
  readonly redis: RedisClient;
  readonly keys: Keys;
  /** Id of the worker. */
  readonly id: string;
  readonly heartbeatMs: number;
  readonly settings: HoldSettings;
  /** Takes no further jobs, or takes them again. */
  readonly suspend: (suspended: boolean) => void;
  readonly readiness: Pick<UnreadyReasons, 'set'>;
  readonly log: Logger;
}

/** The refusal of a worker, recorded for the fleet, in its readiness and in its log. */
export function createRefusal(options: RefusalOptions): WorkerRefusal {
  const { redis, keys, id, heartbeatMs, settings, suspend, readiness, log } = options;
  const isFleetKnown = fleetKnown(redis, MISSED_HEARTBEATS * heartbeatMs);
  return new WorkerRefusal({
    add: async (waitsMs) => (await addRefusedWorker(redis, keys, id, waitsMs)) && isFleetKnown(),
    remove: () => removeRefusedWorker(redis, keys, id),
    settings,
    suspend,
    onChange: (refused) => {
      readiness.set('credentials', refused !== undefined);
      if (refused === undefined) log.info({ event: 'worker-refused-over' });
      else log.error({ event: 'worker-refused', ...refused }, REFUSED_WORDS);
    },
  });
}

/**
 * After an outage of Redis the heartbeats of the others are missing until they have connected again: for `withinMs` it is
 * not known which workers live.
 */
function fleetKnown(redis: RedisClient, withinMs: number): () => boolean {
  let wasAway = false;
  let knownFrom = -Infinity;
  redis.on('close', () => {
    wasAway = true;
  });
  redis.on('ready', () => {
    if (wasAway) knownFrom = performance.now() + withinMs;
    wasAway = false;
  });
  return () => !wasAway && performance.now() >= knownFrom;
}
