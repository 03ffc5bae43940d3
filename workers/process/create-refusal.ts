import type { Logger } from 'pino';
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
  readonly settings: HoldSettings;
  /** Takes no further jobs, or takes them again. */
  readonly suspend: (suspended: boolean) => void;
  readonly readiness: Pick<UnreadyReasons, 'set'>;
  readonly log: Logger;
}

/** The refusal of a worker, recorded for the fleet, in its readiness and in its log. */
export function createRefusal(options: RefusalOptions): WorkerRefusal {
  const { redis, keys, id, settings, suspend, readiness, log } = options;
  return new WorkerRefusal({
    add: (waitsMs) => addRefusedWorker(redis, keys, id, waitsMs),
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
