import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { count, named, time, type Answer } from '../contracts/answer.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { redisTime } from '../redis/server-clock.ts';
import { storedJson } from '../redis/stored-json.ts';
import type { Term } from './restore/epoch.ts';
import { beatEpoch, endEpochBeats } from './restore/epoch-store.ts';

/** A running worker process, as its last heartbeat has it. */
export const workerAnswer = named(
  'Worker',
  z.object({
    id: z.string(),
    host: z.string(),
    pid: z.int(),
    version: z.string(),
    pair: z.string().describe('name of its key pair: a hash'),
    active: count.describe('jobs in progress'),
    concurrency: count.describe('jobs that it takes at the same time'),
    startedAt: time.describe('by the clock of the worker'),
    loopDelayMs: z.number().describe('longest recent event loop delay, in milliseconds'),
    settings: z
      .record(z.string(), z.string())
      .exactOptional()
      .describe('digests of the variables in which workers should agree'),
    sent: z
      .object({ requests: count, contacts: count, forMs: z.number() })
      .optional()
      .describe('requests, and contacts that were accepted, in the time before the heartbeat'),
    unready: z
      .array(z.object({ reason: z.string(), since: time }))
      .exactOptional()
      .describe('why it is not ready; absent or empty when it is'),
    ageMs: z.number().describe('milliseconds since its last heartbeat'),
    acceptedAgoMs: z
      .number()
      .exactOptional()
      .describe('milliseconds from its last acceptance to its last heartbeat'),
  }),
);

export type SeenWorker = Answer<z.output<typeof workerAnswer>>;

const stored = workerAnswer.omit({ ageMs: true });

/** What a worker stores every few seconds. */
export type Heartbeat = Omit<SeenWorker, 'ageMs'>;

/** A worker counts as gone after this many missed heartbeats. */
const MISSED_HEARTBEATS = 3;

/**
 * Stores the worker's state and advances the epoch, with one script.
 * @param everyMs interval of the heartbeats
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
    .flatMap((text) => {
      const at = Number.parseInt(text, 10);
      const heartbeat = storedJson(stored, text.slice(text.indexOf(' ')));
      return heartbeat === undefined ? [] : [{ ...heartbeat, ageMs: Math.max(0, now - at) }];
    })
    .sort((a, b) => a.startedAt - b.startedAt);
}

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

export async function othersAccepted(redis: RedisClient, keys: Keys, id: string): Promise<boolean> {
  const workers = await readWorkers(redis, keys);
  return workers.some(
    ({ id: other, ageMs, acceptedAgoMs = Infinity }) =>
      other !== id && ageMs + acceptedAgoMs < RECENT_MS,
  );
}
