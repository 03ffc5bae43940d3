import type { EmulatorOptions } from '../../../src/emulator/options.ts';

/** Which workers reach Redis or the service through a proxy. */
type Behind = 'all' | 'first' | 'none';

/** What is set up for a scenario. */
export interface Plan {
  readonly processes: number;
  /** Processes of each of them, under a supervisor: `notices worker --processes`. */
  readonly supervised: number;
  /** How long the batch takes where nothing disturbs it; it must outlast the fault and the recovery. */
  readonly seconds: number;
  /** Contacts of the batch, in place of those that `seconds` asks for. */
  readonly contacts: number | undefined;
  /** So many chunks of the batch, evenly spread, have a contact for which the service refuses the request. */
  readonly spoiledChunks: number;
  /** Single notices that are handed over beside the batch, each second until it is over. */
  readonly noticesPerSecond: number;
  /** Contacts of the batch that may wait in Redis: below its size the import lasts. */
  readonly highWater: number;
  /** Who stands behind a proxy in front of Redis. The producer has one of its own. */
  readonly redis: Behind;
  readonly service: Behind;
  readonly producer: boolean;
  readonly emulator: EmulatorOptions;
  /** Further environment of the first worker, or of all. */
  readonly env: Readonly<Record<string, string>>;
  readonly firstEnv: Readonly<Record<string, string>>;
  /** https, by a front of the emulator whose certificate can be changed. */
  readonly tls: boolean;
}

export const PLAN: Plan = {
  processes: 3,
  supervised: 1,
  seconds: 9,
  contacts: undefined,
  spoiledChunks: 0,
  // Less than the slots of two processes can send: what a fault delays is made up for.
  noticesPerSecond: 20,
  highWater: 1_000_000,
  redis: 'none',
  service: 'none',
  producer: false,
  emulator: {},
  env: {},
  firstEnv: {},
  tls: false,
};
