import { randomUUID } from 'node:crypto';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { redisTime } from '../redis/server-clock.ts';
import type { Term } from './restore/epoch.ts';
import { beatEpoch, endEpochBeats } from './restore/epoch-store.ts';

/** The state of a worker process, stored every few seconds. */
export interface Heartbeat {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  /** Name of its key pair (pairName). */
  readonly pair: string;
  /** Jobs in progress, and how many may be. */
  readonly active: number;
  readonly concurrency: number;
  /** Milliseconds since the epoch, by the worker's clock. */
  readonly startedAt: number;
  /** Longest time since the last heartbeat for which the event loop was blocked, in milliseconds. */
  readonly loopDelayMs: number;
  /** Milliseconds since a request of it was accepted; absent where none was. */
  readonly acceptedAgoMs?: number;
  /** Requests, and contacts that were accepted, in the time before the heartbeat; absent in the first one. */
  readonly sent?:
    { readonly requests: number; readonly contacts: number; readonly forMs: number } | undefined;
  /** Digests of the variables in which workers should agree, by name. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Why it is not ready, and since when by the worker's clock; absent or empty when it is ready. */
  readonly unready?: readonly { readonly reason: string; readonly since: number }[];
}

export interface SeenWorker extends Heartbeat {
  /** Milliseconds since the heartbeat, by the clock of Redis. */
  readonly ageMs: number;
}

/** A worker counts as gone after this many missed heartbeats. */
const MISSED_HEARTBEATS = 3;

/**
 * Stores the worker's state and advances the epoch, with one script.
 * @param everyMs interval of the heartbeats (HEARTBEAT_MS)
 * @param memory what the process remembers of the epoch; undefined for nothing
 * @returns what to remember from now on; undefined, without writing, when Redis lacks something that is
 *   remembered: it may contain an old copy (epoch.ts)
 */
export async function beat(
  redis: RedisClient,
  keys: Pick<Keys, 'epoch' | 'workers'>,
  heartbeat: Heartbeat,
  everyMs: number,
  memory?: Term,
): Promise<Term | undefined> {
  const { id } = heartbeat;
  const kept = [id, JSON.stringify(heartbeat), everyMs * MISSED_HEARTBEATS];
  const args = [memory?.id ?? '', memory?.beats ?? 0, ...kept, randomUUID()];
  return beatEpoch(redis, [keys.epoch, keys.workers], args);
}

/**
 * Deregisters the worker, so that status no longer lists it. The last worker marks a clean shutdown,
 * unless Redis lacks something that is remembered.
 */
export async function endHeartbeat(
  redis: RedisClient,
  keys: Pick<Keys, 'epoch' | 'workers'>,
  id: string,
  everyMs: number,
  memory?: Term,
): Promise<void> {
  const args = [memory?.id ?? '', memory?.beats ?? 0, id, everyMs * MISSED_HEARTBEATS];
  await endEpochBeats(redis, [keys.epoch, keys.workers], args);
}

/** The running workers, in the order of their start. */
export async function readWorkers(redis: RedisClient, keys: Keys): Promise<SeenWorker[]> {
  const texts = await redis.hvals(keys.workers);
  const now = Math.floor(await redisTime(redis));
  return texts
    .map((text) => {
      const at = Number.parseInt(text, 10);
      const heartbeat = JSON.parse(text.slice(text.indexOf(' '))) as Heartbeat;
      return { ...heartbeat, ageMs: Math.max(0, now - at) };
    })
    .sort((a, b) => a.startedAt - b.startedAt);
}

/** A variable in which running workers differ. */
export interface DifferingSetting {
  readonly variable: string;
  /** Host and process of the workers that have the same value; the largest group first. */
  readonly groups: readonly (readonly string[])[];
}

/** The variables in which running workers differ. One that reports none, or fewer, is of another version. */
export function differingSettings(workers: readonly SeenWorker[]): DifferingSetting[] {
  const variables = new Set(workers.flatMap(({ settings = {} }) => Object.keys(settings)));
  return [...variables].sort().flatMap((variable) => {
    const groups = new Map<string, string[]>();
    for (const { host, pid, settings = {} } of workers) {
      const digest = settings[variable];
      if (digest === undefined) continue;
      groups.set(digest, [...(groups.get(digest) ?? []), `${host} (${pid})`]);
    }
    if (groups.size < 2) return [];
    return [{ variable, groups: [...groups.values()].sort((a, b) => b.length - a.length) }];
  });
}

/** So long ago at most another worker was accepted, to show that trouble is not everybody's; in milliseconds. */
const RECENT_MS = 15_000;

/** Whether requests of other workers were accepted recently. */
export async function othersAccepted(redis: RedisClient, keys: Keys, id: string): Promise<boolean> {
  const workers = await readWorkers(redis, keys);
  return workers.some(
    ({ id: other, ageMs, acceptedAgoMs = Infinity }) =>
      other !== id && ageMs + acceptedAgoMs < RECENT_MS,
  );
}
