import { randomUUID } from 'node:crypto';
import { hintChannel } from '../../redis/hints.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { redisFailure } from '../../redis/failure.ts';
import { CHUNK_QUEUE_NAME, QUEUE_NAME, type Keys } from '../../redis/keys.ts';
import type { Epoch, EpochReading, EpochMemory, RestoreEvent, Suspicion } from './epoch.ts';
import { fetchEpoch, markRestored } from './epoch-scripts.ts';

/** Reads the epoch and the server that stores it, without advancing it. */
export async function readEpoch(
  redis: RedisClient,
  keys: Pick<Keys, 'epoch'>,
): Promise<EpochReading> {
  try {
    const reply = await fetchEpoch(redis, [keys.epoch], []);
    const [flat, now, server, startedAt] = reply as [string[], number, string, number];
    return { epoch: epochFrom(flat), now, server, startedAt };
  } catch (error) {
    throw redisFailure(error);
  }
}

function epochFrom(flat: readonly string[]): Epoch | undefined {
  const fields = new Map<string, string>();
  for (let index = 0; index < flat.length; index += 2) {
    fields.set(flat[index] ?? '', flat[index + 1] ?? '');
  }
  const text = (name: string) => fields.get(name) ?? '';
  const number = (name: string) => Number(text(name)) || 0;
  const id = text('id');
  if (id === '') return undefined;
  const event: RestoreEvent = {
    id: text('event'),
    at: number('eventAt'),
    why: text('why') as Suspicion,
    copyAt: number('copyAt'),
    missingMs: number('missingMs'),
    verdict: text('verdict') === 'held' ? 'held' : 'warned',
    missed: text('missed'),
  };
  return {
    id,
    bornAt: number('bornAt'),
    beats: number('beats'),
    at: number('at'),
    server: text('server'),
    earlier: fields.has('earlierBeats')
      ? { beats: number('earlierBeats'), at: number('earlierAt') }
      : undefined,
    stopped: text('stopped') === '1',
    event: event.id === '' ? undefined : event,
  };
}

export function memoryOf(epoch: Epoch): EpochMemory {
  const { id, bornAt, beats, at, server, event } = epoch;
  return { id, bornAt, beats, at, server, event: event?.id ?? '', by: 'process' };
}

export interface RestoreMark {
  readonly why: Suspicion;
  readonly copyAt: number;
  readonly missingMs: number;
  /** `held` also holds the queue, in the same step. */
  readonly verdict: RestoreEvent['verdict'];
  /** Id of the epoch that a process remembers; empty when none does. */
  readonly missed: string;
  /** The event that it remembers. */
  readonly after: string;
}

/**
 * Records for the fleet that Redis looks like an old copy.
 * @param epoch as it was read
 * @returns what to remember; undefined when another process recorded an event meanwhile: read again
 */
export async function recordRestored(
  redis: RedisClient,
  keys: Keys,
  epoch: Epoch | undefined,
  { why, copyAt, missingMs, verdict, missed, after }: RestoreMark,
): Promise<EpochMemory | undefined> {
  const { hold, limiter, chunkLimiter, holdHints } = keys;
  const seen = [epoch?.id ?? '', epoch?.event?.id ?? '', randomUUID(), randomUUID()];
  const channel = hintChannel(redis, holdHints);
  const args = [...seen, why, copyAt, Math.round(missingMs), verdict, missed, channel, after];
  try {
    const taken = [hold, limiter, chunkLimiter, keys.epoch];
    return await markRestored(redis, taken, args);
  } catch (error) {
    throw redisFailure(error);
  }
}

/**
 * Whether the queue contains work from before a time. Checks a sample: the oldest jobs of both lanes, and
 * the oldest batch.
 */
export async function hasWorkFrom(
  redis: RedisClient,
  keys: Pick<Keys, 'bullPrefix' | 'batches'>,
  before: number,
): Promise<boolean> {
  try {
    const times = await Promise.all(
      [QUEUE_NAME, CHUNK_QUEUE_NAME].map(async (name) => {
        const lane = `${keys.bullPrefix}:${name}`;
        const [[, first], ids] = await Promise.all([
          redis.zrange(keys.batches, '0', '0', 'WITHSCORES'),
          Promise.all([
            redis.lindex(`${lane}:wait`, -1),
            redis.lindex(`${lane}:active`, -1),
            redis.zrange(`${lane}:prioritized`, '0', '0'),
            redis.zrange(`${lane}:delayed`, '0', '0'),
          ]),
        ]);
        const jobs = ids.flat().filter((id) => id !== null && id !== undefined);
        const stamps = await Promise.all(
          jobs.map((id) => redis.hget(`${lane}:${id}`, 'timestamp')),
        );
        return [first, ...stamps];
      }),
    );
    return times.flat().some((at) => at !== null && at !== undefined && Number(at) < before);
  } catch (error) {
    throw redisFailure(error);
  }
}
