import type { RedisClient } from '../redis/connect.ts';
import { defineScript } from '../redis/script.ts';
import { SENT_AGAIN_LUA, type JobRun } from './job-data.ts';

/** How a run ended its job for good: with a result, or as failed with a reason. */
export type JobEnd =
  | { readonly kind: 'completed'; readonly result: unknown }
  | {
      readonly kind: 'failed';
      readonly reason: string;
      /** It is listed as unknown, or will be by the next run. */
      readonly unknown?: boolean;
    };

/*
 * Ends that BullMQ could not record. A worker holds the answer of the service while Redis refuses writes.
 * If that takes longer than the lock of the job, BullMQ gives the job to another worker and no longer
 * takes the end from the first one. So the first one stores the end in a field of the job, and a run after
 * a stall looks there before it sends. The field is deleted with the job, or when a person decides that
 * the notice is sent again (END_FIELDS); an end of a run before that decision is not stored.
 *
 * A stall counts as possibly sent. Where the run that stalled has stored its end, what became of it is known:
 * the next run takes the stall back, unless another run began in between.
 */

const END = 'notices:end';
/** How many runs had started, with the last one whose end is known by the stored one. */
const END_RUN = 'notices:end-run';
/** How many stalls of the job a run has waited after. */
const STALLS = 'notices:stalls';

const remember = defineScript({
  name: 'remember the end of a job',
  keys: 1,
  lua: `${SENT_AGAIN_LUA}
  local name, ended, progress = unpack(redis.call('HMGET', KEYS[1], 'name', 'finishedOn', 'progress'))
  if not name or ended then return 0 end
  if sentAgainAt(progress) ~= tonumber(ARGV[3]) then return 0 end
  alsoWhenFull()
  return redis.call('HSET', KEYS[1], '${END}', ARGV[1], '${END_RUN}', ARGV[2])`,
});

/** Whether the stall of the run before counts as possibly sent; `lost` where another run has the job. */
export type StallAnswer = 'known' | 'counts' | 'lost';

/**
 * KEYS: the job, its lock. ARGV: token of the lock, how many runs had started.
 *
 * | the run has the lock | the end is known of | answer |
 * |---|---|---|
 * | no | any | lost |
 * | yes | this run: a repetition | known |
 * | yes | the run before | known: its stall no longer counts, and the end is that of this run, too |
 * | yes | an earlier one | counts |
 */
const takeBack = defineScript({
  name: 'take back a stall',
  keys: 2,
  lua: `
  if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 'lost' end
  local known, started = redis.call('HGET', KEYS[1], '${END_RUN}'), tonumber(ARGV[2])
  if known and tonumber(known) == started then return 'known' end
  if not known or tonumber(known) ~= started - 1 then return 'counts' end
  alsoWhenFull()
  redis.call('HSET', KEYS[1], '${END_RUN}', started)
  redis.call('HINCRBY', KEYS[1], 'stc', -1)
  return 'known'`,
  parse: (reply: unknown) => reply as StallAnswer,
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
  alsoWhenFull()
  redis.call('HSET', KEYS[1], '${STALLS}', ARGV[1])
  return 'none'`,
  parse: (reply: unknown) => reply as string,
});

/**
 * Stores the end of a job, unless BullMQ has recorded one, the job is gone, or a person has sent it again since.
 * Safe to repeat.
 *
 * @param run started: 0 where not all that it learned is known by its end
 */
export async function rememberEnd(
  redis: RedisClient,
  jobKey: string,
  end: JobEnd,
  { started, sentAgainAt }: Pick<JobRun, 'started' | 'sentAgainAt'>,
): Promise<void> {
  await remember(redis, [jobKey], [JSON.stringify(end), started, sentAgainAt]);
}

/** Takes back the stall of the run before, whose end a run has found. Safe to repeat. */
export async function takeBackStall(
  redis: RedisClient,
  jobKey: string,
  { token, started }: Omit<JobRun, 'sentAgainAt'>,
): Promise<StallAnswer> {
  return takeBack(redis, [jobKey, `${jobKey}:lock`], [token, started]);
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
 * The fields with a stored end, with its run, and with how many stalls were waited after. They are deleted before a job
 * that failed is run again: BullMQ's count of its stalls begins at 0 once more.
 */
export const END_FIELDS = [END, END_RUN, STALLS] as const;
