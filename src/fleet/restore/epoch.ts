/**
 * The epoch: how far this Redis is. Every heartbeat of a worker advances it; a Redis that holds an
 * old copy of the queue stands at an earlier one than somebody remembers. Times are Redis time, in
 * milliseconds since the epoch of clocks.
 *
 * What cannot be seen: a copy that was taken after all workers had stopped in order, put back while
 * nobody remembers (no worker runs, no STATE_FILE), looks like the maintenance it was taken in.
 */
export interface Epoch {
  /** Drawn when it began: an emptied Redis begins another. */
  readonly id: string;
  readonly bornAt: number;
  /** Heartbeats counted so far. */
  readonly beats: number;
  /** The last of them, and the server that took it: its run id, empty where it does not say. */
  readonly at: number;
  readonly server: string;
  /** The servers before, the last first, each with the last heartbeat it took. */
  readonly earlier: readonly ServerLife[];
  /** The workers have all stopped in order since. */
  readonly stopped: boolean;
  /** The last time that this Redis looked like an old copy. */
  readonly event: RestoreEvent | undefined;
}

/** One server of this Redis, until it was restarted or replaced. */
export interface ServerLife {
  readonly server: string;
  readonly beats: number;
  readonly at: number;
}

/** Redis looked like an old copy. */
export interface RestoreEvent {
  readonly id: string;
  readonly at: number;
  readonly why: Suspicion;
  /** The last heartbeat that the copy knows: it was made at that time or soon after. */
  readonly copyAt: number;
  /** How much is missing, at most. */
  readonly missingMs: number;
  /** `held`: the queue was held for a person. */
  readonly verdict: 'held' | 'warned';
  /** Id of the epoch that somebody remembered; empty where nobody did. */
  readonly missed: string;
  /** Ids of the events before, the last first. */
  readonly past: readonly string[];
}

/** What somebody remembers of the last heartbeat that Redis took from him. */
export interface EpochMemory {
  readonly id: string;
  readonly bornAt: number;
  readonly beats: number;
  readonly at: number;
  readonly server: string;
  /** Id of the last event known then; empty for none. */
  readonly event: string;
  /** Who remembers: this process, which never spoke to another Redis, or STATE_FILE. */
  readonly by: 'process' | 'file';
}

/** What one look at Redis found. */
export interface EpochLook {
  readonly epoch: Epoch | undefined;
  readonly now: number;
  /** Run id of the server that answered, and when it started; empty and 0 where it does not say. */
  readonly server: string;
  readonly startedAt: number;
}

/**
 * Why a Redis looks like an old copy.
 *
 * - `went-back`: it lacks a heartbeat that somebody remembers. Certain.
 * - `another-line`: it stands in an epoch from before the one that is remembered. Certain.
 * - `no-epoch`: it has no epoch, and holds work from before the one that is remembered. Certain.
 * - `gap`: it was started long after it was last heard of, and nobody remembers. Likely.
 */
export type Suspicion = 'went-back' | 'another-line' | 'no-epoch' | 'gap';

/** What a look means. */
export type RestoreVerdict =
  | {
      readonly kind: 'continue';
      readonly why:
        | 'first'
        | 'emptied'
        | 'begun-anew'
        | 'remembered'
        | 'known'
        | 'same-server'
        | 'stopped-in-order'
        | 'crashed';
    }
  | {
      readonly kind: 'suspect' | 'tolerate';
      readonly why: Suspicion;
      readonly copyAt: number;
      readonly missingMs: number;
    };

/** Bounds on what may be missing, in milliseconds. */
export interface RestoreBounds {
  /** RESTORE_TOLERANCE_MS */
  readonly toleranceMs: number;
  /** RESTORE_GAP_MS */
  readonly gapMs: number;
}

/**
 * So many earlier servers, and events, are kept. A memory of a server before them is compared by its
 * count alone.
 */
export const EARLIER_KEPT = 8;

/** A server says since when it runs in whole seconds. */
const UPTIME_GRAIN_MS = 1_500;

/**
 * Whether this Redis holds an old copy of the queue.
 *
 * | who remembers | Redis | verdict | such as |
 * |---|---|---|---|
 * | nobody | no epoch | first | a new installation |
 * | somebody | no epoch, no older work | emptied | FLUSHALL, or a restart without persistence |
 * | somebody | no epoch, older work | suspect `no-epoch` | a copy from before the first epoch |
 * | somebody | another epoch, begun later | begun-anew | emptied, and used since |
 * | this process | another epoch, begun before | suspect `another-line` | a copy from before a FLUSHALL |
 * | a file | another epoch, begun before | as if nobody remembered | a file of another installation |
 * | somebody | has all heartbeats that are remembered | remembered | a power cut with AOF, a failover in sync |
 * | somebody | lacks heartbeats | suspect `went-back`, within the tolerance only warned of | a nightly copy put back, a replica that lagged |
 * | somebody | an event since, held | known | others have seen it, and a person has or will |
 * | somebody | an event since, only warned of | known, or suspect where more is missing than was known | |
 * | nobody | the server took the last heartbeat | same-server | workers restarted |
 * | nobody | another server; stopped in order before | stopped-in-order | planned maintenance |
 * | nobody | another server, soon after the last heartbeat | crashed | a crash and a restart |
 * | nobody | another server, long after it | suspect `gap` | a nightly copy put back; a long power cut, too |
 *
 * @param olderWork whether the queue holds work from before the epoch that is remembered; asked only
 *   where Redis has no epoch
 */
export function judgeEpoch(
  memory: EpochMemory | undefined,
  look: EpochLook,
  bounds: RestoreBounds,
  olderWork: boolean,
): RestoreVerdict {
  const { epoch } = look;
  if (epoch === undefined) {
    if (memory === undefined) return { kind: 'continue', why: 'first' };
    if (!olderWork) return { kind: 'continue', why: 'emptied' };
    const { bornAt, at } = memory;
    return { kind: 'suspect', why: 'no-epoch', copyAt: bornAt, missingMs: at - bornAt };
  }
  if (memory === undefined) return judgeAlone(epoch, look, bounds);
  const { event } = epoch;
  if (memory.id !== epoch.id) {
    if (event?.missed === memory.id) return { kind: 'continue', why: 'known' };
    if (epoch.bornAt > memory.at) return { kind: 'continue', why: 'begun-anew' };
    if (memory.by === 'file') return judgeAlone(epoch, look, bounds);
    const missingMs = Math.max(0, memory.at - epoch.at);
    return { kind: 'suspect', why: 'another-line', copyAt: epoch.at, missingMs };
  }
  if (event !== undefined && isSince(event, memory)) {
    const missingMs = memory.at - event.copyAt;
    const known = Math.max(event.missingMs, bounds.toleranceMs);
    return event.verdict === 'held' || missingMs <= known
      ? { kind: 'continue', why: 'known' }
      : { kind: 'suspect', why: 'went-back', copyAt: event.copyAt, missingMs };
  }
  const last = lastBeatOn(epoch, memory.server, look.server);
  const sameEvent = (event?.id ?? '') === memory.event;
  if (sameEvent && last.beats >= memory.beats) return { kind: 'continue', why: 'remembered' };
  // Clocks that were set back in between make less than nothing of it: then it is not known.
  const missingMs = memory.at - last.at;
  const { toleranceMs } = bounds;
  const tolerable = toleranceMs > 0 && missingMs >= 0 && missingMs <= toleranceMs;
  const kind = tolerable ? 'tolerate' : 'suspect';
  return { kind, why: 'went-back', copyAt: last.at, missingMs: Math.max(0, missingMs) };
}

/** Whether an event came after what is remembered. Clocks of different servers would not tell. */
function isSince(event: RestoreEvent, memory: EpochMemory): boolean {
  if (event.id === memory.event) return false;
  return memory.event === '' || event.past.includes(memory.event);
}

/** Nobody remembers: only the servers' own times tell. */
function judgeAlone(epoch: Epoch, look: EpochLook, { gapMs }: RestoreBounds): RestoreVerdict {
  const { now, startedAt } = look;
  const startedSince = startedAt > epoch.at + UPTIME_GRAIN_MS;
  const replaced =
    epoch.server !== '' && look.server !== '' ? epoch.server !== look.server : startedSince;
  if (!replaced) return { kind: 'continue', why: 'same-server' };
  if (epoch.stopped) return { kind: 'continue', why: 'stopped-in-order' };
  // A replica that was promoted has run all the time: then only now bounds what is missing.
  const missingMs = (startedSince ? startedAt : now) - epoch.at;
  return missingMs <= gapMs
    ? { kind: 'continue', why: 'crashed' }
    : { kind: 'suspect', why: 'gap', copyAt: epoch.at, missingMs };
}

/**
 * The last heartbeat that the epoch knows of a server. After a restart new workers go on counting, so
 * the count as it stands proves nothing about what the server before had taken.
 */
function lastBeatOn(
  { server, beats, at, earlier }: Epoch,
  remembered: string,
  present: string,
): Omit<ServerLife, 'server'> {
  if (remembered === '' || remembered === server) return { beats, at };
  const life = earlier.find((other) => other.server === remembered);
  if (life !== undefined) return life;
  if (earlier.length >= EARLIER_KEPT) return { beats, at };
  // It never heard of that server: all of its life is missing, since the last heartbeat that the
  // server before the present one took.
  return { beats: 0, at: (server === present ? earlier[0]?.at : at) ?? at };
}
