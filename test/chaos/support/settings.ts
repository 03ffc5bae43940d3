import { DELIVERY_POLICIES, type DeliveryPolicy } from '../../../src/contracts/outcome.ts';
import type { EmulatorOptions } from '../../../src/emulator/options.ts';
import type { CuttableSet } from './sentinel-set.ts';

/** Contacts of a chunk of a batch. */
export const CHUNK = 10;

/** Short enough that what a dead worker held comes back within seconds, and more than two send deadlines. */
const LOCK_MS = 4_500;
const STALLED_MS = 500;
const PROBE_MAX_MS = 1_000;
const SEND_DEADLINE_MS = 2_150;
const BACKOFF_CAP_MS = 300;

/** Of each answer of the service: what the speed of an undisturbed fleet is bound by. */
export const LATENCY_MS = 250;

/** When others have all that a dead worker held: its locks are over, and two checks found the jobs. */
export const TAKEN_OVER_MS = LOCK_MS + 2 * STALLED_MS;

/** Two sets of workers start at a time on two cores, and each process takes a second of one. */
const START_MS = 1_000;

/** What recoveries may take, in milliseconds; a second on top for the machine. */
export const AFTER_KILL = TAKEN_OVER_MS + START_MS + 1_000;
export const AFTER_HOLD = PROBE_MAX_MS + 1_000;
const RATE_LIMIT_RECOVERY_MS = 1_000;
/** The service asks for a second, and dates it to a second; then the rate limit rises again. */
export const AFTER_THROTTLE = AFTER_HOLD + 1_000 + RATE_LIMIT_RECOVERY_MS;
export const AFTER_REDIS = 5_000;
/** A request that hangs ends at its deadline, and comes back after the longest backoff. */
export const AFTER_NETWORK = SEND_DEADLINE_MS + BACKOFF_CAP_MS + 1_000;

/** A connection to Redis counts as dead after 15 s of silence. */
export const AFTER_SILENCE = 15_000 + AFTER_REDIS;

/** An outage at least two and a half times as long as ATTEMPTS attempts take: 2.15 s of delays, and the answers. */
export const OUTAGE_MS = 12_000;
/** Held as `failing`, the service must accept two probes before the others follow. */
export const AFTER_OUTAGE = AFTER_HOLD + 2 * 250 + 1_000;

/** As by default: no fault of the suite may use up what a notice may be tried. */
export const ATTEMPTS = 10;
export const UNKNOWN_RESENDS = 2;

export const NOTICE_SLOTS = 3;
export const CHUNK_SLOTS = 6;

/**
 * What a worker process may send to Redis in a second while the service takes nothing. Probes are five a second at
 * most here: each makes every free place take a job, ask the gate and return the job.
 */
export const MOST_COMMANDS = 500;

const COUNT_COMMANDS = new URL('../preload/count-commands.mjs', import.meta.url).href;

/** Environment of every worker. */
export const ENV = {
  NODE_OPTIONS: `--import=${COUNT_COMMANDS}`,
  CONCURRENCY: String(NOTICE_SLOTS),
  BATCH_CONCURRENCY: String(CHUNK_SLOTS),
  LOCK_DURATION_MS: String(LOCK_MS),
  HEARTBEAT_MS: String(STALLED_MS),
  SEND_DEADLINE_MS: String(SEND_DEADLINE_MS),
  ANSWER_TIMEOUT_MS: '1000',
  CONNECT_TIMEOUT_MS: '500',
  ISSUE_DEADLINE_MS: '1500',
  TOKEN_LOCK_TTL_MS: '3000',
  TOKEN_GRACE_MS: '100',
  HOLD_PROBE_MIN_MS: '200',
  HOLD_PROBE_MAX_MS: String(PROBE_MAX_MS),
  BACKOFF_BASE_MS: '50',
  BACKOFF_CAP_MS: String(BACKOFF_CAP_MS),
  RATE_LIMIT_RECOVERY_MS: String(RATE_LIMIT_RECOVERY_MS),
  ATTEMPTS: String(ATTEMPTS),
  UNKNOWN_RESENDS: String(UNKNOWN_RESENDS),
  SHUTDOWN_TIMEOUT_MS: '8000',
} as const;

/** Which workers reach Redis or the service through a proxy. */
type Behind = 'all' | 'first' | 'none';

/** What is set up for a scenario. */
export interface Plan {
  /** A load of each is sent at the same time. Amounts below are those of one that is alone (Stage.amount). */
  readonly policies: readonly DeliveryPolicy[];
  readonly processes: number;
  /** How long the batch takes where nothing disturbs it; it must outlast the fault and the recovery. */
  readonly seconds: number;
  /** Contacts of the batch, in place of those that `seconds` asks for. */
  readonly contacts: number | undefined;
  /** So many chunks of the batch, evenly spread, have a contact for which the service refuses the request. */
  readonly spoiledChunks: number;
  /** Single notices that are handed over beside the batch, each second until it is over; or all at the beginning. */
  readonly noticesPerSecond: number;
  readonly noticesAtFirst: number;
  /** Contacts of the batch that may wait in Redis: below its size the import lasts. */
  readonly highWater: number;
  /** Who stands behind a proxy in front of Redis. The producer has one of its own. */
  readonly redis: Behind;
  readonly service: Behind;
  readonly producer: boolean;
  /** In place of one Redis. */
  readonly sentinels: CuttableSet | undefined;
  readonly emulator: EmulatorOptions;
  /** Further environment of the first worker, or of all. */
  readonly env: Readonly<Record<string, string>>;
  readonly firstEnv: Readonly<Record<string, string>>;
  /** https, by a front of the emulator whose certificate can be changed. */
  readonly tls: boolean;
}

export const PLAN: Plan = {
  policies: DELIVERY_POLICIES,
  processes: 3,
  seconds: 9,
  contacts: undefined,
  spoiledChunks: 0,
  // Both together less than the slots of all can send: what a fault delays is made up for.
  noticesPerSecond: 20,
  noticesAtFirst: 0,
  highWater: 1_000_000,
  redis: 'none',
  service: 'none',
  producer: false,
  sentinels: undefined,
  emulator: {},
  env: {},
  firstEnv: {},
  tls: false,
};

/** How much each load has: of two policies at once two thirds of what one has alone, so that as much meets a fault. */
export const amountOf = ({ policies }: Plan, ofOne: number) =>
  Math.ceil(policies.length > 1 ? (2 * ofOne) / 3 : ofOne);
