import { END_STATES } from '../../contracts/outcome.ts';
import { REMOVE_JOB } from '../../notices/job-lua.ts';
import { settleAgain } from '../../notices/send-again.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { CHUNK_QUEUE_NAME, QUEUE_NAME, type Keys } from '../../redis/keys.ts';
import { defineScript } from '../../redis/script.ts';

/** Jobs that one script deletes at most: Redis does nothing else meanwhile. */
const AT_ONCE = 1_000;

/**
 * Deletes the oldest jobs of a set whose time is over, as BullMQ's own removal by age does: a job and what BullMQ stores
 * beside it, but not its deduplication key. BullMQ's `clean` deletes that, too, and a call that is repeated within the
 * idempotency window would send the notice a second time.
 *
 * KEYS: the set of ended jobs. ARGV: the prefix of the jobs' keys, which share the hash tag of the set, how long jobs are
 * kept, the most that are deleted. Returns how many were.
 */
const deleteOldest = defineScript<number>({
  name: 'delete ended jobs',
  lua: `
local jobs, before, most = ARGV[1], clock() - ARGV[2], ARGV[3]
${REMOVE_JOB}
local ended = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', before, 'LIMIT', 0, most)
for _, id in ipairs(ended) do removeJob(id) end
if #ended > 0 then redis.call('ZREM', KEYS[1], unpack(ended)) end
return #ended`,
  parse: Number,
});

/** Most records of expired, of cancelled, and of accepted notices that are kept, whatever their age. */
const MOST_KEPT = 10_000;

/**
 * Deletes the oldest records of notices that ended in a state, but none whose job is still there: its run was killed after
 * it had recorded the end, and the next one must find it. KEYS: entries, their index. ARGV: how long they are kept, how many
 * are, the most that are deleted, the prefix of the jobs' keys. Returns how many were.
 */
const deleteRecords = defineScript<number>({
  name: 'delete records of ended notices',
  lua: `
local most = tonumber(ARGV[3])
local ids = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', clock() - ARGV[1], 'LIMIT', 0, most)
if #ids == 0 then
  local over = math.min(redis.call('ZCARD', KEYS[2]) - ARGV[2], most)
  if over > 0 then ids = redis.call('ZRANGE', KEYS[2], 0, over - 1) end
end
local gone = {}
for _, id in ipairs(ids) do
  if redis.call('EXISTS', ARGV[4] .. id) == 0 then gone[#gone + 1] = id end
end
if #gone > 0 then
  redis.call('HDEL', KEYS[1], unpack(gone))
  redis.call('ZREM', KEYS[2], unpack(gone))
end
return #gone`,
  parse: Number,
});

/**
 * Deletes what has ended and whose time is over (KEEP_ACCEPTED_MS, KEEP_FAILED_MS), personal data included. BullMQ does it
 * only when another job ends in the same way, which in an idle queue may be never. Idempotency keys stay in use.
 *
 * @param signal aborted when the process stops: the rest is left to the next turn
 */
export async function deleteEnded(
  redis: RedisClient,
  keys: Keys,
  { keepAcceptedMs, keepFailedMs }: Record<'keepAcceptedMs' | 'keepFailedMs', number>,
  signal: AbortSignal,
): Promise<void> {
  await settleAgain(redis, keys);
  const ended = [
    { name: QUEUE_NAME, state: 'completed', keepMs: keepAcceptedMs },
    { name: QUEUE_NAME, state: 'failed', keepMs: keepFailedMs },
    { name: CHUNK_QUEUE_NAME, state: 'failed', keepMs: keepFailedMs },
  ] as const;
  const inParts = async (deleteSome: () => Promise<number>) => {
    let deleted = AT_ONCE;
    while (deleted === AT_ONCE && !signal.aborted) deleted = await deleteSome();
  };
  for (const { name, state, keepMs } of ended) {
    const jobs = `${keys.bullPrefix}:${name}:`;
    await inParts(() => deleteOldest(redis, [`${jobs}${state}`], [jobs, keepMs, AT_ONCE]));
  }
  for (const state of END_STATES) {
    const isKept = state === 'rejected' || state === 'unknown';
    const most = isKept ? Number.MAX_SAFE_INTEGER : MOST_KEPT;
    const args = [keepFailedMs, most, AT_ONCE, keys.noticeJob('')];
    await inParts(() => deleteRecords(redis, [keys.ended, keys.endedIn(state)], args));
  }
}
