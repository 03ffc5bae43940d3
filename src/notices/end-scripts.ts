import { randomUUID } from 'node:crypto';
import type { RedisClient } from '../redis/connect.ts';
import { translated } from '../redis/failure.ts';
import { DONE_MS, LEAST_EVENTS, type EndedIndex, type Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import { endedText, type EndedEntry, type EndedNotice, type EndedState } from './ended.ts';
import { ANNOUNCE, RELEASE_KEY } from './job-lua.ts';

/** Field of a job: how many of its runs had started when contacts were last erased from its data. */
export const ERASED = 'notices:erased';

/**
 * Records the end of a notice that was not accepted, with its event, and removes what is remembered of its job. The run
 * then completes the job, which BullMQ removes.
 *
 * | the job | answer |
 * |---|---|
 * | another run has it or had it, contacts of it were erased, or it is gone | lost: nothing is recorded |
 * | it has an entry: a repetition, or an earlier run died before it completed the job | recorded |
 * | an earlier run was accepted after this one found its intent open | accepted: nothing is recorded |
 * | any other | recorded; also where it lost its lock and no other run has started |
 *
 * KEYS: entries, histories of jobs, events, the job, its lock. ARGV: the id, token of the lock, how many runs had
 * started, state, the entry as JSON without its time, its code, how many events are kept, when the job was added.
 */
const recordScript = defineScript<RecordedEnd>({
  name: 'record the end of a notice',
  lua: `
local id, state, now = ARGV[1], ARGV[4], clock()
local lock = redis.call('GET', KEYS[5])
if lock ~= ARGV[2] then
  local started, added, ended, erased =
    unpack(redis.call('HMGET', KEYS[4], 'ats', 'timestamp', 'finishedOn', '${ERASED}'))
  if lock or ended or erased == started or started ~= ARGV[3] or added ~= ARGV[8] then return 'lost' end
end
local function indexOf(name) return KEYS[1] .. ':at:' .. name end
local isAgain = redis.call('ZSCORE', indexOf('again'), id)
if not isAgain and redis.call('HEXISTS', KEYS[1], id) == 1 then return 'recorded' end
local intent = jsonOf(redis.call('HGET', KEYS[2], 'intent:' .. id)) or {}
if intent.accepted then return 'accepted' end
alsoWhenFull()
local nonce = intent.nonce and '"nonce":' .. cjson.encode(intent.nonce) .. ',' or ''
redis.call('HSET', KEYS[1], id, '{"at":' .. now .. ',' .. nonce .. string.sub(ARGV[5], 2))
redis.call('ZADD', indexOf(state), now, id)
if isAgain then redis.call('ZREM', indexOf('again'), id) end
redis.call('HDEL', KEYS[2], 'trouble:' .. id, 'unknown:' .. id, 'intent:' .. id)
if tonumber(ARGV[7]) > 0 then
  redis.call('XTRIM', KEYS[3], 'MAXLEN', '~', ARGV[7])
  redis.call('XADD', KEYS[3], '*', 'notice', id, 'state', state, 'code', ARGV[6])
end
return 'recorded'`,
  parse: (reply) => reply as RecordedEnd,
});

/** What became of the record of an end. */
export type RecordedEnd = 'recorded' | 'lost' | 'accepted';

export interface EndingRun {
  readonly id: string;
  readonly lockToken: string;
  /** How many runs had started, with it. */
  readonly started: number;
  readonly addedAt: number;
}

/**
 * Records the end of a notice. Safe to repeat.
 * @param events NOTICE_EVENTS
 */
export async function recordEnd(
  redis: RedisClient,
  keys: Keys,
  { id, lockToken, started, addedAt }: EndingRun,
  entry: Omit<EndedEntry, 'at'>,
  events: number,
): Promise<RecordedEnd> {
  const most = events === 0 ? 0 : Math.max(events, LEAST_EVENTS);
  const { state, code } = entry;
  const args = [id, lockToken, started, state, endedText(entry), code, most, addedAt];
  const from = [keys.ended, keys.history, keys.events, keys.noticeJob(id), keys.noticeLock(id)];
  return translated(recordScript(redis, from, args));
}

/**
 * Changes an entry, or removes it, unless it has changed since it was read. Safe to repeat.
 *
 * KEYS: entries, account, events, mark of the request, counts of the account, the job. ARGV: the id, its text as
 * it was read, its new text or empty, its index before and after, the state of the event or empty, contacts that are sent
 * again although they were possibly sent, `none` where no job may exist, the prefix of BullMQ's keys, the hash of a key
 * that is released or empty.
 */
export const changeScript = defineScript({
  name: 'change the end of a notice',
  lua: `
local id, was, text, from, to, state, twice, jobs, key =
  ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[9], ARGV[10]
${ANNOUNCE}${RELEASE_KEY}
local function indexOf(name) return KEYS[1] .. ':at:' .. name end
if redis.call('EXISTS', KEYS[4]) == 1 then return 1 end
local at = redis.call('ZSCORE', indexOf(from), id)
if not at or redis.call('HGET', KEYS[1], id) ~= was then return 0 end
if ARGV[8] == 'none' and redis.call('EXISTS', KEYS[6]) == 1 then return 0 end
-- First: a Redis that is out of memory takes this, and then what needs some.
redis.call('ZREM', indexOf(from), id)
if to == '' then redis.call('HDEL', KEYS[1], id)
else
  redis.call('ZADD', indexOf(to), to == 'again' and clock() or at, id)
  if text ~= was then redis.call('HSET', KEYS[1], id, text) end
end
releaseKey(key, id)
if state ~= '' then announce(KEYS[2], KEYS[3], id, state, '') end
if tonumber(twice) > 0 then redis.call('HINCRBY', KEYS[5], 'noticesTwice', twice) end
redis.call('SET', KEYS[4], 1, 'PX', ${DONE_MS})
return 1`,
  parse: (reply: unknown) => reply === 1,
});

export interface EndedChange {
  readonly text?: string;
  /** Where it is. Default: in its state */
  readonly from?: EndedIndex;
  readonly to?: EndedIndex;
  /** Its new state, for an event. Default: none */
  readonly state?: EndedState | 'pending';
  /** Contacts that are sent again although they were possibly sent. Default: 0 */
  readonly twice?: number;
  /** Only if the queue has no job of it. */
  readonly withoutJob?: boolean;
  /** Its idempotency key becomes free. Default: it stays in use */
  readonly release?: boolean | undefined;
}

/**
 * Changes or removes an entry.
 * @returns false where it has changed since it was read, or is being put back into the queue
 */
export function changeEnded(
  redis: RedisClient,
  keys: Keys,
  // Without an idempotency key a job has its own id in the place of one.
  { id, text: was, state: from, key = id }: Pick<EndedNotice, 'id' | 'text' | 'state' | 'key'>,
  change: EndedChange,
): Promise<boolean> {
  const { text = '', to = '', state = '', twice = 0, withoutJob = false } = change;
  const { ended, account, events, counts } = keys;
  const taken = [ended, account, events, keys.done(randomUUID()), counts, keys.noticeJob(id)];
  const args = [id, was, text, change.from ?? from, to, state, twice, withoutJob ? 'none' : ''];
  const released = change.release === true ? key : '';
  return changeScript(redis, taken, [...args, keys.noticeJob(''), released]);
}
