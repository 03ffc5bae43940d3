import type { Queue } from 'bullmq';
import { z } from 'zod';
import { JOB_NAME, type EarlierRuns } from '../contracts/job.ts';
import type { RedisClient } from '../redis/connect.ts';
import { QUEUE_NAME, type Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import { storedJson } from '../redis/stored-json.ts';
import { changeEnded } from './end-scripts.ts';
import type { EndedNotice } from './ended.ts';

/** Runs with BullMQ's queue of single notices; what loads it is loaded here, since the help of a command needs none. */
export async function withNotices<Result>(
  redis: RedisClient,
  keys: Keys,
  use: (queue: Queue) => Promise<Result>,
): Promise<Result> {
  const { openBullQueue } = await import('../redis/open-queue.ts');
  const queue = openBullQueue(QUEUE_NAME, redis, keys);
  try {
    return await use(queue);
  } finally {
    await queue.close().catch(() => {});
  }
}

/**
 * Puts a notice back into the queue, under its id and with all its attempts: its entry is marked, then the job is added,
 * then the entry goes. Where the process dies in between, the run that takes the job removes the entry, or
 * {@link settleAgain} puts it back where there is no job: then none was taken.
 * @returns false where the entry has changed since it was read, or the job before has not gone yet
 */
export async function sendAgain(
  redis: RedisClient,
  keys: Keys,
  queue: Queue,
  entry: EndedNotice,
): Promise<boolean> {
  const { id, possiblySent, contacts, priority, text } = entry;
  const data = dataAgain(entry);
  if (data === undefined) return false;
  const twice = possiblySent > 0 ? contacts : 0;
  const mark = { text, to: 'again', state: 'pending', twice, withoutJob: true } as const;
  if (!(await changeEnded(redis, keys, entry, mark))) return false;
  try {
    // No deduplication: its key, which may still be in use, names this notice.
    await queue.add(JOB_NAME, data, { jobId: id, ...(priority === undefined ? {} : { priority }) });
  } catch (error) {
    await settleAgain(redis, keys, 0, [id]).catch(() => {});
    throw error;
  }
  // Where this process has slept for so long that others have cleared its mark, the entry is in its place again.
  const isDropped = await changeEnded(redis, keys, entry, { from: 'again' });
  if (!isDropped) await changeEnded(redis, keys, entry, {});
  return true;
}

/** The data of the job, with what is known of the runs before; undefined where it has none that a worker could read. */
function dataAgain({ data, possiblySent, traceIds, key }: EndedNotice): object | undefined {
  const read = storedJson(z.looseObject({}), data);
  const earlier: EarlierRuns = {
    possiblySent,
    ...(traceIds === undefined ? {} : { traceIds }),
    ...(key === undefined ? {} : { key }),
  };
  return read && { ...read, earlier };
}

/**
 * KEYS: entries, their ids that are being put back. ARGV: the prefix of BullMQ's keys, marked at this age in milliseconds or
 * longer, ids or none for all.
 */
const settleScript = defineScript<number>({
  name: 'settle what is sent again',
  lua: `
local before = clock() - ARGV[2]
local ids = { unpack(ARGV, 3) }
if #ids == 0 then ids = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', before, 'LIMIT', 0, 1000) end
for _, id in ipairs(ids) do
  if redis.call('ZREM', KEYS[2], id) == 1 then
    local text = redis.call('HGET', KEYS[1], id)
    if redis.call('EXISTS', ARGV[1] .. id) == 1 then redis.call('HDEL', KEYS[1], id)
    elseif text then
      local entry = jsonOf(text)
      if entry then redis.call('ZADD', KEYS[1] .. ':at:' .. entry.state, entry.at, id) end
    end
  end
end
return #ids`,
  parse: Number,
});

/** A process that has marked an entry and not gone on for so long has died. */
const UNFINISHED_MS = 30_000;

/** Ends what a process that died was sending again: what has a job is sent, the rest has ended as before. */
export async function settleAgain(
  redis: RedisClient,
  { ended, endedIn, noticeJob }: Keys,
  olderThanMs: number = UNFINISHED_MS,
  ids: readonly string[] = [],
): Promise<void> {
  await settleScript(redis, [ended, endedIn('again')], [noticeJob(''), olderThanMs, ...ids]);
}
