import type { Machine } from './harness/machine.ts';
import type { Count } from './legs/counts.ts';
import type { Draining } from './legs/draining.ts';
import type { Growth } from './legs/growth.ts';
import type { PageTime } from './legs/pages.ts';
import type { SoakSample } from './legs/soak.ts';
import type { Startup } from './legs/startup.ts';

/** What the rounds of one contestant came to, each list by round. */
export interface Rounds {
  /** Units of work a second. */
  readonly rate: readonly number[];
  /** Microseconds of CPU a unit: of its process, of Redis, of the service. */
  readonly cpuUs: readonly number[];
  readonly redisCpuUs: readonly number[];
  readonly serviceCpuUs: readonly number[];
  readonly peakMb: readonly number[];
}

/** Contestants by name. */
export type Race = Readonly<Record<string, Rounds>>;

/** What the rounds of several workers on one Redis came to, each list by round; all but `rate` is per contact. */
export interface SharedRounds {
  /** Contacts a second. */
  readonly rate: readonly number[];
  /** Microseconds of CPU of all workers together, and of Redis for them. */
  readonly cpuUs: readonly number[];
  readonly redisCpuUs: readonly number[];
  /** Bytes from the workers to Redis, and back. */
  readonly inBytes: readonly number[];
  readonly outBytes: readonly number[];
  /** Microseconds of Redis for queueing, before the workers started; bytes in both directions. */
  readonly queueingCpuUs: readonly number[];
  readonly queueingBytes: readonly number[];
  /** Requests to the service, and bytes in both directions. */
  readonly requests: readonly number[];
  readonly serviceBytes: readonly number[];
}

/** Milliseconds of one notice, by round. */
export interface Latency {
  readonly p50Ms: readonly number[];
  readonly p99Ms: readonly number[];
}

/** All that a run has measured; what it left out is missing. */
export interface Results {
  readonly machine: Machine;
  readonly rounds: number;
  readonly counts?: readonly Count[];
  readonly startup?: Startup;
  /** A unit is a contact. */
  readonly singles?: Race;
  readonly chunks?: Race;
  /** The same with the emulator as the service. */
  readonly chunksEmulated?: Race;
  /** A unit is a request. */
  readonly clients?: Race;
  /** A unit is a row. */
  readonly importing?: Race;
  readonly importPeakMb?: { readonly million: number; readonly fourMillion: number };
  readonly latency?: Readonly<Record<string, Latency>>;
  readonly draining?: Draining;
  readonly growth?: readonly Growth[];
  readonly pages?: readonly PageTime[];
  /** Sends a second by number of processes, by round. */
  readonly processes?: Readonly<Record<string, readonly number[]>>;
  /** By contestant and number of workers; a unit is a contact. */
  readonly sharing?: Readonly<Record<string, SharedRounds>>;
  readonly soak?: readonly SoakSample[];
}
