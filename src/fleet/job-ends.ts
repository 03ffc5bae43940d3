import type { RedisClient } from '../redis/connect.ts';
import { defineScript } from '../redis/script.ts';

/** How a run ended its job for good: with a result, or as failed with a reason. */
export type JobEnd =
  | { readonly kind: 'completed'; readonly result: unknown }
  | { readonly kind: 'failed'; readonly reason: string };

/*
 * Ends that BullMQ could not record. A worker holds the answer of the service while Redis refuses writes.
 * If that takes longer than the lock of the job, BullMQ gives the job to another worker and no longer
 * takes the end from the first one. So the first one stores the end in a field of the job, and a run after
 * a stall looks there before it sends. The field is deleted with the job, or when a person decides that
 * the notice is sent again (END_FIELDS).
 */

const END = 'notices:end';
/** How many stalls of the job a run has waited after. */
const STALLS = 'notices:stalls';

const remember = defineScript({
  name: 'remember the end of a job',
  keys: 1,
  lua: `
  if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], 'finishedOn') == 1 then
    return 0
  end
  return redis.call('HSET', KEYS[1], '${END}', ARGV[1])`,
});

const find = defineScript({
  name: 'find the end of a job',
  keys: 1,
  lua: `
  local kept = redis.call('HGET', KEYS[1], '${END}')
  if kept then return kept end
  local stalls = tonumber(redis.call('HGET', KEYS[1], '${STALLS}') or 0)
  if stalls >= tonumber(ARGV[1]) then return 'none' end
  if ARGV[2] == 'ask' then return 'wait' end
  redis.call('HSET', KEYS[1], '${STALLS}', ARGV[1])
  return 'none'`,
  parse: (reply: unknown) => reply as string,
});

/** Stores the end of a job, unless BullMQ has recorded one or the job is gone. Safe to repeat. */
export async function rememberEnd(redis: RedisClient, jobKey: string, end: JobEnd): Promise<void> {
  await remember(redis, [jobKey], [JSON.stringify(end)]);
}

/**
 * The stored end of a job that has stalled.
 *
 * @param stalls how often the job has stalled
 * @param step `ask` first, `waited` after the wait that `ask` demanded
 * @returns `wait` when no run has waited since the last stall: the worker that had the job may still be
 *   about to store its end
 */
export async function findEnd(
  redis: RedisClient,
  jobKey: string,
  stalls: number,
  step: 'ask' | 'waited',
): Promise<JobEnd | 'none' | 'wait'> {
  const reply = await find(redis, [jobKey], [stalls, step]);
  return reply === 'none' || reply === 'wait' ? reply : (JSON.parse(reply) as JobEnd);
}

/**
 * The fields with a stored end and with how many stalls were waited after. They are deleted before a job that failed is
 * run again: BullMQ's count of its stalls begins at 0 once more.
 */
export const END_FIELDS = [END, STALLS] as const;
