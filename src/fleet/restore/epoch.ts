/**
 * The epoch: a counter in Redis that every heartbeat of a worker advances. A Redis that was restored from
 * an old copy of the queue is behind what a worker or STATE_FILE remembers. Times are Redis time, in
 * milliseconds since 1970.
 *
 * Not detectable: a copy that was made after a clean shutdown of all workers and is restored while nothing
 * remembers a later epoch (no worker runs, no STATE_FILE); and a copy after which the server changed once more,
 * while only workers without a memory had sent heartbeats.
 */
export interface Epoch {
  /** Random; an emptied Redis starts another epoch. */
  readonly id: string;
  readonly bornAt: number;
  /** Heartbeats counted so far. */
  readonly beats: number;
  /** Time of the last heartbeat, and the run id of the server that took it; empty when unknown. */
  readonly at: number;
  readonly server: string;
  /** The last heartbeat that the server before it took; undefined where there was none. */
  readonly earlier: { readonly beats: number; readonly at: number } | undefined;
  /** All workers have shut down cleanly since. */
  readonly stopped: boolean;
  /** The last time that Redis looked like an old copy. */
  readonly event: RestoreEvent | undefined;
}

export interface RestoreEvent {
  /** Begins with the number of the event: clocks of servers differ, numbers do not. */
  readonly id: string;
  readonly at: number;
  readonly why: Suspicion;
  /** Time of the last heartbeat in the copy: the copy was made then or soon after. */
  readonly copyAt: number;
  /** Upper bound of what is missing, in milliseconds. */
  readonly missingMs: number;
  /** `held`: the queue was held until a person lifts the hold. */
  readonly verdict: 'held' | 'warned';
  /** Id of the epoch that a process remembered; empty when none did. */
  readonly missed: string;
}

/** What a process remembers of its last heartbeat. */
export interface EpochMemory {
  readonly id: string;
  readonly bornAt: number;
  readonly beats: number;
  readonly at: number;
  readonly server: string;
  /** Id of the last event at that time; empty for none. */
  readonly event: string;
  /** `process`: this process, which never used another Redis; `file`: STATE_FILE. */
  readonly by: 'process' | 'file';
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
 * - `went-back`: it lacks what a process remembers: a heartbeat, or the whole epoch. Certain.
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

const CONTINUE: RestoreVerdict = { kind: 'continue' };

/** Limits of what may be missing, in milliseconds. */
export interface RestoreBounds {
  /** RESTORE_TOLERANCE_MS: less than this is only warned about. */
  readonly toleranceMs: number;
  /** RESTORE_GAP_MS: a longer time without heartbeats before a restart is suspect. */
  readonly gapMs: number;
}

/** Redis reports its uptime in whole seconds. */
const UPTIME_GRAIN_MS = 1_500;

/**
 * Decides whether Redis contains an old copy of the queue.
 *
 * | memory | Redis | verdict | example |
 * |---|---|---|---|
 * | any | no epoch, no older work | continue | a new installation, FLUSHALL, a restart without persistence |
 * | any | no epoch, older work | suspect `went-back` | a copy from before the first epoch |
 * | any | another epoch, started later | continue | emptied, and used since |
 * | process | another epoch, started earlier | suspect `went-back` | a copy from before a FLUSHALL |
 * | file | another epoch, started earlier | as without memory | a file of another installation |
 * | any | all remembered heartbeats | continue | a power cut with AOF, a failover in sync |
 * | any | lacks heartbeats | suspect `went-back`; tolerate below the tolerance | a restored nightly copy, a replica that lagged |
 * | any | a later event, held | continue | another process recorded it, and a person decides |
 * | any | a later event, only warned | continue; suspect when more is missing than was known | |
 * | none | the server took the last heartbeat | continue | workers restarted |
 * | none | another server, after a clean shutdown | continue | planned maintenance |
 * | none | another server, soon after the last heartbeat | continue (`isRestart`) | a crash and a restart |
 * | none | another server, long after it | suspect `gap` | a restored nightly copy, or a long power cut |
 * @param olderWork whether the queue contains work from before the remembered epoch; relevant only when
 *   Redis has no epoch
 */
export function judgeEpoch(
  memory: EpochMemory | undefined,
  reading: EpochReading,
  bounds: RestoreBounds,
  olderWork: boolean,
): RestoreVerdict {
  const { epoch } = reading;
  if (epoch === undefined) {
    if (memory === undefined || !olderWork) return CONTINUE;
    const { bornAt, at } = memory;
    return { kind: 'suspect', why: 'went-back', copyAt: bornAt, missingMs: at - bornAt };
  }
  if (memory === undefined) return judgeWithoutMemory(epoch, reading, bounds);
  const { event } = epoch;
  if (memory.id !== epoch.id) {
    if (event?.missed === memory.id || epoch.bornAt > memory.at) return CONTINUE;
    if (memory.by === 'file') return judgeWithoutMemory(epoch, reading, bounds);
    const missingMs = Math.max(0, memory.at - epoch.at);
    return { kind: 'suspect', why: 'went-back', copyAt: epoch.at, missingMs };
  }
  if (event !== undefined && numberOf(event.id) > numberOf(memory.event)) {
    const missingMs = memory.at - event.copyAt;
    const known = Math.max(event.missingMs, bounds.toleranceMs);
    return event.verdict === 'held' || missingMs <= known
      ? CONTINUE
      : { kind: 'suspect', why: 'went-back', copyAt: event.copyAt, missingMs };
  }
  // New workers go on counting after a restart: the present count does not prove that earlier heartbeats are there.
  // After two restarts the earlier one proves as little: a copy may be missed.
  const isPresent = memory.server === '' || memory.server === epoch.server;
  const last = isPresent ? epoch : (epoch.earlier ?? epoch);
  const sameEvent = (event?.id ?? '') === memory.event;
  if (sameEvent && last.beats >= memory.beats) return CONTINUE;
  // Negative when a clock was set back in between: then the amount is unknown.
  const missingMs = memory.at - last.at;
  const { toleranceMs } = bounds;
  const tolerable = toleranceMs > 0 && missingMs >= 0 && missingMs <= toleranceMs;
  const kind = tolerable ? 'tolerate' : 'suspect';
  return { kind, why: 'went-back', copyAt: last.at, missingMs: Math.max(0, missingMs) };
}

const numberOf = (event: string): number => Number(/^\d+/.exec(event)?.[0] ?? 0);

/** Decides without a memory, by the times of the servers. */
function judgeWithoutMemory(
  epoch: Epoch,
  reading: EpochReading,
  { gapMs }: RestoreBounds,
): RestoreVerdict {
  const { now, startedAt } = reading;
  const startedSince = startedAt > epoch.at + UPTIME_GRAIN_MS;
  const replaced =
    epoch.server !== '' && reading.server !== '' ? epoch.server !== reading.server : startedSince;
  if (!replaced || epoch.stopped) return CONTINUE;
  // A promoted replica has run all the time: then only the present time limits what is missing.
  const missingMs = (startedSince ? startedAt : now) - epoch.at;
  return missingMs <= gapMs
    ? { kind: 'continue', isRestart: true }
    : { kind: 'suspect', why: 'gap', copyAt: epoch.at, missingMs };
}
