import type { HoldKind } from '../../../src/contracts/hold.ts';
import type { Plan } from './plan.ts';
import {
  AFTER_HOLD,
  AFTER_KILL,
  AFTER_NETWORK,
  AFTER_OUTAGE,
  AFTER_REDIS,
  AFTER_SILENCE,
  AFTER_THROTTLE,
} from './settings.ts';
import type { Stage } from './stage.ts';

/** What a recovery may take, in milliseconds, by what was broken. */
export const BOUNDS = {
  worker: AFTER_KILL,
  hold: AFTER_HOLD,
  throttle: AFTER_THROTTLE,
  redis: AFTER_REDIS,
  silence: AFTER_SILENCE,
  network: AFTER_NETWORK,
  outage: AFTER_OUTAGE,
} as const;

/** Something that is broken on purpose. */
export interface Scenario {
  readonly name: string;
  /** What its recoveries are measured against; left out where nothing stands still. */
  readonly bound?: keyof typeof BOUNDS;
  readonly plan?: Partial<Plan>;
  /** The hold that it must bring about. */
  readonly hold?: HoldKind;
  /** It costs no notice an attempt, and leaves nothing in doubt. */
  readonly harmless?: true;
  /** So many attempts a notice may spend all the same. Default: 0. */
  readonly spent?: number;
  /** Nobody dies or is abandoned while a token is issued. */
  readonly exactTokens?: true;
  /** So many attempts may end unknown, besides probes. */
  readonly inDoubt?: number;
  /** No good single notice waits longer, in milliseconds. */
  readonly waitMs?: number;
  /**
   * Breaks things while the load is sent, and mends them.
   *
   * @returns how often the faults struck, as those who met them say; a scenario of 0 is void
   */
  readonly disturb: (stage: Stage) => Promise<number>;
}
