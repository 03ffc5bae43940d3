import type { RestoreConfig } from '../../config/config.ts';

/**
 * A term: the heartbeats of workers that one server of Redis counted, in a row. Another term starts with the first
 * heartbeat that another server takes, in an emptied Redis, and when an old copy is found. Redis knows its term and the
 * one before; each worker and STATE_FILE remember the term of the last heartbeat. A Redis that was restored from an old
 * copy of the queue lacks what they remember. Times are Redis time, in milliseconds since 1970.
 *
 * Not detectable: a copy from before the first heartbeat; one that was made after a clean shutdown of all workers and is
 * restored while nothing remembers a later term (no worker runs, no STATE_FILE); and a copy after which the server changed
 * once more, while only workers without a memory had sent heartbeats.
 */
export interface Term {
  readonly id: string;
  readonly bornAt: number;
  /** Heartbeats counted so far, also those of terms before. */
  readonly beats: number;
  readonly at: number;
}

export interface Epoch extends Term {
  /** The run id of the server that took the last heartbeat; empty when unknown. */
  readonly server: string;
  /** The term before, as far as it is here; undefined where there was none. */
  readonly before: Term | undefined;
  /** All workers have shut down cleanly since. */
  readonly stopped: boolean;
  readonly event: RestoreEvent | undefined;
}

export interface RestoreEvent {
  readonly at: number;
  readonly why: Suspicion;
  /** Time of the last heartbeat in the copy: the copy was made then or soon after. */
  readonly copyAt: number;
  /** Upper bound of what is missing, in milliseconds. */
  readonly missingMs: number;
  /** `held`: the queue was held until a person lifts the hold. */
  readonly verdict: 'held' | 'warned';
}

export interface EpochReading {
  readonly epoch: Epoch | undefined;
  readonly now: number;
  /** Run id of the server that answered, and its start time; empty and 0 when unknown. */
  readonly server: string;
  readonly startedAt: number;
}

/**
 * Why a Redis looks like an old copy.
 *
 * - `went-back`: it lacks what is remembered: a heartbeat, or a whole term. Certain.
 * - `gap`: it started long after the last heartbeat, and no process remembers. Likely.
 */
export type Suspicion = 'went-back' | 'gap';

export type RestoreVerdict =
  /** `isRestart`: it was restarted soon after the last heartbeat, and no process remembers. */
  | { readonly kind: 'continue'; readonly isRestart?: true }
  | {
      readonly kind: 'suspect' | 'tolerate';
      readonly why: Suspicion;
      readonly copyAt: number;
      readonly missingMs: number;
    };

/** Redis reports its uptime in whole seconds. */
const UPTIME_GRAIN_MS = 1_500;

/**
 * Decides whether Redis contains an old copy of the queue.
 *
 * | memory | Redis | verdict | example |
 * |---|---|---|---|
 * | any | nothing | continue | a new installation, FLUSHALL, a restart without persistence |
 * | the present term or the one before | all its heartbeats | continue | a power cut with AOF, a failover in sync |
 * | the present term or the one before | lacks heartbeats | suspect `went-back`; tolerate below the tolerance | a restored nightly copy, a replica that lagged |
 * | another term | only later terms | continue | emptied, or two servers since |
 * | another term | an earlier term | suspect `went-back` | a copy from before that term |
 * | none | the server took the last heartbeat | continue | workers restarted |
 * | none | another server, after a clean shutdown | continue | planned maintenance |
 * | none | another server, soon after the last heartbeat | continue (`isRestart`) | a crash and a restart |
 * | none | another server, long after it | suspect `gap` | a restored nightly copy, or a long power cut |
 */
export function judgeEpoch(
  memory: Term | undefined,
  reading: EpochReading,
  { toleranceMs, gapMs }: Pick<RestoreConfig, 'toleranceMs' | 'gapMs'>,
): RestoreVerdict {
  const { epoch } = reading;
  if (epoch === undefined) return { kind: 'continue' };
  if (memory === undefined) return judgeWithoutMemory(epoch, reading, gapMs);
  const { before = epoch } = epoch;
  const same = [epoch, before].find(({ id }) => id === memory.id);
  const isThere = same === undefined ? before.bornAt > memory.bornAt : same.beats >= memory.beats;
  if (isThere) return { kind: 'continue' };
  // A term that began after the remembered one is of heartbeats on the copy.
  const copyAt = (same ?? (epoch.bornAt > memory.bornAt ? before : epoch)).at;
  // Negative when a clock was set back in between: then the amount is unknown.
  const missingMs = memory.at - copyAt;
  const isTolerable = toleranceMs > 0 && missingMs >= 0 && missingMs <= toleranceMs;
  const kind = isTolerable ? 'tolerate' : 'suspect';
  return { kind, why: 'went-back', copyAt, missingMs: Math.max(0, missingMs) };
}

/** Decides without a memory, by the times of the servers. */
function judgeWithoutMemory(
  epoch: Epoch,
  { now, server, startedAt }: EpochReading,
  gapMs: number,
): RestoreVerdict {
  const startedSince = startedAt > epoch.at + UPTIME_GRAIN_MS;
  const replaced = epoch.server !== '' && server !== '' ? epoch.server !== server : startedSince;
  if (!replaced || epoch.stopped) return { kind: 'continue' };
  // A promoted replica has run all the time: then only the present time limits what is missing.
  const missingMs = (startedSince ? startedAt : now) - epoch.at;
  return missingMs <= gapMs
    ? { kind: 'continue', isRestart: true }
    : { kind: 'suspect', why: 'gap', copyAt: epoch.at, missingMs };
}
