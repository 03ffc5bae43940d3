import type { Logger } from 'pino';
import { othersAccepted } from '../../src/fleet/heartbeat.ts';
import { HoldGate, type HoldSettings } from '../../src/fleet/hold/hold-gate.ts';
import type { NamedHold } from '../../src/fleet/hold/template-hold.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import type { Hints } from '../../src/redis/hints.ts';
import type { Keys } from '../../src/redis/keys.ts';
import type { UnreadyReasons } from '../health/readiness.ts';

const ALONE_WORDS =
  'requests of this worker fail, and those of others do not: compare its key pair, address and network with theirs';

/** What the holds of a worker need. */
export interface CreateHoldsOptions {
  readonly redis: RedisClient;
  readonly hints: Hints;
  readonly keys: Keys;
  /** Id of the worker. */
  readonly id: string;
  readonly settings: HoldSettings;
  /** Redis time. */
  readonly now: () => number;
  readonly onHeld: () => void;
  readonly onTemplateHeld: (held: NamedHold) => void;
  /** Takes no further jobs, or takes them again. */
  readonly suspend: (suspended: boolean) => void;
  readonly readiness: UnreadyReasons;
  readonly log: Logger;
}

/** The holds of a worker, in its log and its readiness. */
export function createHolds({
  redis,
  hints,
  keys,
  id,
  settings,
  now,
  onHeld,
  onTemplateHeld,
  suspend,
  readiness,
  log,
}: CreateHoldsOptions): HoldGate {
  return new HoldGate({
    redis,
    hints,
    keys,
    id,
    settings,
    now,
    othersAccepted: () => othersAccepted(redis, keys, id),
    onMove: (move) => {
      log.info({ event: 'hold', ...move }, `queue ${move.kind}`);
      if (move.kind === 'held') onHeld();
    },
    onAside: (aside) => {
      suspend(aside !== undefined);
      readiness.set('alone', aside !== undefined);
      if (aside === undefined) log.info({ event: 'worker-returns' });
      else log.error({ event: 'worker-alone', ...aside }, ALONE_WORDS);
    },
    onTemplateHeld: (held) => {
      log.error({ event: 'template-held', ...held }, 'the notices of a template wait');
      onTemplateHeld(held);
    },
  });
}
