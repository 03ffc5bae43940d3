import { defineScript, type Script } from '../../../redis/script.ts';
import { POSSIBLY_SENT_AT_CANCEL, stateNumber as number } from '../settlement.ts';

/**
 * The keys that all ledger scripts take, in this order: record, chunks, payload, sizes, inflight, failures and groups
 * of the batch; then the counts, the events, the set of batches and the set of open batches of the account.
 * After the keys of the script itself, the last has the batches with unknown contacts.
 *
 * In the record, `pending` and `sending` exclude each other; `possiblySentPending` is the part of `pending` that was
 * possibly sent, `possiblySentTwice` counts contacts that were sent again after that. `sizes` holds the size of each
 * chunk that is not full, and of a chunk
 *
 * - `<chunk>.parts`: how many names of its parts were given;
 * - `<chunk>.sent`: number of its attempts that the service may have accepted;
 * - `<chunk>.root`: it is a part of a chunk that was refused or sent again: the chunk of the list that it is of;
 * - `<chunk>.ends`: what became of contacts that are deleted, each line: state, time, trace id, rows, and of suppressed ones how often
 *   they were possibly sent (row-results.ts).
 *
 * `derived` is the number of chunks that are not of the list, but of a redrive or halves of others. `queued` is the
 * number of chunks from the first on that have got jobs. With a rate, the next chunk may be claimed from `nextAt` on,
 * and `turnsTo` is the end of the turns (time slots) that were given to jobs. `restartedAt` is when the jobs of a
 * stalled batch were last queued again. `heldBackAt` is when a pause last refused a claim; after a resume soon after,
 * all chunks get jobs once more at `againAt`.
 *
 * `groups` holds a sum of the failures for each state and code, so that a page need not read all of them; codes beyond
 * MOST_GROUPS have one sum for each state.
 *
 * `unknowns` has the number of unknown contacts of each batch that has any.
 */
/** A start that was missed by more, because workers or Redis were away, is for a person to decide. */
const MOST_LATE_MS = 3_600_000;

/** More codes than this are no help to a reader. */
const MOST_GROUPS = 1_000;

const PRELUDE = `
local record, chunks, payload, sizes, inflight, failures = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local groups, counts, events, batches, open = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local unknowns = KEYS[#KEYS]
local NONE, PENDING, PENDING_POSSIBLY_SENT = ${number('none')}, ${number('pending')}, ${number('pending-possibly-sent')}
local SENDING, SENDING_POSSIBLY_SENT = ${number('sending')}, ${number('sending-possibly-sent')}
local SETTLED = ${number('settled')}

local function field(name) return redis.call('HGET', record, name) end
local function count(name) return tonumber(field(name)) or 0 end
-- No more than have a state, whatever the record says.
local function chunkCount() return math.min(count('chunks'), 2 * redis.call('STRLEN', chunks)) end
local function add(name, by)
  if by == 0 then return end
  redis.call('HINCRBY', record, name, by)
  if name ~= 'unknown' then return end
  local now, id = count('unknown'), field('id')
  if now > 0 then redis.call('ZADD', unknowns, now, id) else redis.call('ZREM', unknowns, id) end
end
local function addUnsent(by)
  if by ~= 0 then redis.call('HINCRBY', counts, 'unsent', by) end
end
-- Contacts that are sent again after an unknown outcome, for the batch and in the count of the account.
local function countTwice(by)
  add('possiblySentTwice', by)
  redis.call('HINCRBY', counts, 'chunksTwice', by)
end
local function moved(now)
  -- The clock went back: so do the turns that were given before.
  if count('movedAt') > now then redis.call('HSET', record, 'turnsTo', 0) end
  redis.call('HSET', record, 'movedAt', now)
end
local function stateOf(chunk)
  return redis.call('BITFIELD', chunks, 'GET', 'u4', '#' .. chunk)[1]
end
local function setState(chunk, state)
  redis.call('BITFIELD', chunks, 'SET', 'u4', '#' .. chunk, state)
end
-- Contacts that wait; of a chunk that was possibly sent they are counted once more.
local function addPending(by, possiblySent)
  add('pending', by)
  if possiblySent then add('possiblySentPending', by) end
end
local function setPending(chunk, possiblySent)
  setState(chunk, possiblySent and PENDING_POSSIBLY_SENT or PENDING)
end
local function sizeOf(chunk)
  return tonumber(redis.call('HGET', sizes, chunk)) or count('chunkSize')
end
local function rootOf(chunk) return redis.call('HGET', sizes, chunk .. '.root') or chunk end
-- Attempts of a possibly sent chunk that the service may have accepted, and one more of them.
local function timesSent(chunk) return math.max(1, tonumber(redis.call('HGET', sizes, chunk .. '.sent')) or 1) end
local function countSent(chunk) redis.call('HINCRBY', sizes, chunk .. '.sent', 1) end
local function event(name, ...)
  redis.call('XADD', events, '*', 'event', name, 'batch', field('id'), ...)
end
-- Milliseconds to the deadline; 0 once it has passed, -1 for none.
local function msToDeadline(now)
  local expiresAt = count('expiresAt')
  if expiresAt == 0 then return -1 end
  return math.max(0, expiresAt - now)
end
local function isTooLate(now) return msToDeadline(now) == 0 end
local function isOpen(phase) return phase == 'importing' or phase == 'sending' end
-- A worker looks at the batch at once, and from then on at intervals, until it is taken out.
local function lookAtOnce(now) redis.call('ZADD', open, now, field('id')) end
local function takeOut() redis.call('ZREM', open, field('id')) end

-- A batch that waits for its start is looked at when that is due.
local function lookAtStart()
  local startAt = count('startAt')
  if startAt > 0 then redis.call('ZADD', open, startAt, field('id')) else takeOut() end
end
local function resume(now)
  redis.call('HSET', record, 'phase', field('resumeTo'), 'queued', 0, 'turnsTo', 0, 'movedAt', now,
    'startAt', 0, 'startMissedAt', 0)
end
-- Begins a batch whose start is due; one that was missed for too long waits for a person.
local function startIfDue(now)
  local startAt = count('startAt')
  if field('phase') ~= 'paused' or startAt <= 0 or now < startAt then return end
  if now - startAt <= ${MOST_LATE_MS} then resume(now)
  else redis.call('HSET', record, 'startAt', -1, 'startMissedAt', startAt) end
end

-- With a rate: the time that a chunk takes, when the next one may be sent, and the first turn that no job has been
-- given. No claim puts the next one off by more than a full chunk takes: where it is, the clock went back.
local function turnOf(chunk) return math.ceil(sizeOf(chunk) * 1000 / count('rate')) end
local function nextTurn(now)
  local nextAt = count('nextAt')
  if nextAt - now <= math.ceil(count('chunkSize') * 1000 / count('rate')) then return nextAt end
  redis.call('HSET', record, 'nextAt', now, 'turnsTo', now)
  return now
end
local function freeTurn(now)
  local nextAt = nextTurn(now)
  return math.max(count('turnsTo'), nextAt, now)
end

-- Keeps the batch among those of its list (keys.ts, \`list\`) until a time, '+inf' while it
-- has not ended. Their key is kept as long as the last of them.
local function keepInList(untilMs)
  local id, list = unpack(redis.call('HMGET', record, 'id', 'listKey'))
  if not list then return end
  redis.call('ZADD', list, untilMs, id)
  local last = redis.call('ZREVRANGE', list, 0, 0, 'WITHSCORES')[2]
  if last == 'inf' then redis.call('PERSIST', list) else redis.call('PEXPIREAT', list, last) end
end

-- Finishes the batch if nothing is pending and the import has ended.
local function finishIfDone(now)
  local phase = field('phase')
  if count('pending') + count('sending') > 0 or field('importedAt') == '0' then return end
  if phase ~= 'sending' and phase ~= 'cancelled' then return end
  if field('finishedAt') ~= '0' then return end
  redis.call('HSET', record, 'finishedAt', now)
  takeOut()
  if phase == 'sending' then redis.call('HSET', record, 'phase', 'finished') end
  for index = 1, 7 do redis.call('PEXPIRE', KEYS[index], count('retentionMs')) end
  keepInList(now + count('retentionMs'))
  event('batch.finished', 'phase', field('phase'), 'total', count('total'),
    'accepted', count('accepted'), 'rejected', count('rejected'), 'unknown', count('unknown'),
    'expired', count('expired'), 'cancelled', count('cancelled'), 'suppressed', count('suppressed'),
    'possiblySentTwice', count('possiblySentTwice'))
end

-- What is written after the end of the batch is kept as long as its record.
local function keepWithRecord(key)
  local ms = redis.call('PTTL', record)
  if ms > 0 then redis.call('PEXPIRE', key, ms) end
end

-- Some contacts of a chunk have ended by themselves: the rest stays what it is, and with none the chunk is over.
local function leaveRest(chunk, size, contacts)
  if size == 0 then
    setState(chunk, SETTLED)
    redis.call('HDEL', inflight, chunk)
    redis.call('HDEL', payload, chunk)
  else
    redis.call('HSET', payload, chunk, contacts)
    redis.call('HSET', sizes, chunk, size)
    keepWithRecord(sizes)
  end
  local now = clock()
  moved(now)
  finishIfDone(now)
end

-- Ends the claim of a chunk, whose contacts are no longer unsent.
local function release(chunk, size)
  redis.call('HDEL', inflight, chunk)
  addUnsent(-size)
end

-- A chunk that would be tried again, but its batch was cancelled meanwhile: its final state.
local function cancelChunk(chunk, size, possiblySent)
  setPending(chunk, possiblySent)
  add(possiblySent and 'unknown' or 'cancelled', size)
end

-- The same for a chunk whose attempt never reported a result.
local function cancelUnderWay(chunk)
  local size = sizeOf(chunk)
  add('sending', -size)
  release(chunk, size)
  cancelChunk(chunk, size, true)
end

-- A failure or a sum of them, with its number; nil for what cannot be read: what is stored may be anything.
local function readable(text, number)
  local value = jsonOf(text)
  local isWhole = value and tonumber(value[number]) and type(value.code) == 'string'
  return isWhole and value or nil
end

-- Adds so many contacts to the sum of failures like this one, or takes them away, before the failure is
-- stored: it names the sum where that is not the one of its code.
local function sumUp(failure, contacts)
  local code = failure.summed or failure.code
  local stored = redis.call('HGET', groups, failure.state .. ' ' .. code)
  if not stored and (contacts <= 0 or redis.call('HLEN', groups) >= ${MOST_GROUPS}) then
    code = 'OTHER'
    failure.summed = code
    stored = redis.call('HGET', groups, failure.state .. ' ' .. code)
  end
  local group = failure.state .. ' ' .. code
  local sum = stored and readable(stored, 'contacts') or { state = failure.state, code = code,
    contacts = 0, message = '' }
  sum.contacts = sum.contacts + contacts
  if sum.contacts <= 0 then return redis.call('HDEL', groups, group) end
  if contacts > 0 and sum.message == '' then sum.message = failure.message end
  redis.call('HSET', groups, group, cjson.encode(sum))
end

-- Remembers what became of rows whose contacts are deleted.
local function noteEnd(chunk, state, now, traceId, rows, sent)
  if not rows or rows == '' then return end
  local before = redis.call('HGET', sizes, chunk .. '.ends')
  local line = state .. ' ' .. now .. ' ' .. (traceId == '' and '-' or traceId) .. ' ' .. rows .. (sent and ' ' .. sent or '')
  redis.call('HSET', sizes, chunk .. '.ends', before and before .. '\\n' .. line or line)
end

-- Records contacts that were not accepted, under <chunk> or <chunk>.<part>.
local function fail(name, now, state, size, code, message)
  add(state, size)
  local failure = { at = now, state = state, size = size, code = code, message = message }
  sumUp(failure, size)
  redis.call('HSET', failures, name, cjson.encode(failure))
end

-- The failure with this name; nil if there is none. Cancelling stores no failures, so that it takes the same time
-- for any number of contacts: a chunk that it left as unknown becomes one when it is decided on.
local function failureOf(name)
  local stored = redis.call('HGET', failures, name)
  if stored then return readable(stored, 'size') end
  if field('phase') ~= 'cancelled' or not string.match(name, '^%d+$') then return nil end
  if stateOf(name) ~= PENDING_POSSIBLY_SENT then return nil end
  local at = count('finishedAt') > 0 and count('finishedAt') or count('movedAt')
  local size = sizeOf(name)
  local failure = { at = at, state = '${POSSIBLY_SENT_AT_CANCEL.state}', size = size,
    code = '${POSSIBLY_SENT_AT_CANCEL.code}', message = '${POSSIBLY_SENT_AT_CANCEL.message}' }
  setState(name, SETTLED)
  sumUp(failure, size)
  redis.call('HSET', failures, name, cjson.encode(failure))
  keepWithRecord(failures)
  keepWithRecord(groups)
  return failure
end
`;

/** Defines a ledger script. Its answer is a list whose first element names the result. */
export function ledgerScript<Result>(
  name: string,
  lua: string,
  { binary = false } = {},
): LedgerScript<Result> {
  const parse = (reply: unknown) => reply as readonly [Result, ...unknown[]];
  return defineScript({ name: `ledger ${name}`, binary, lua: `${PRELUDE}${lua}`, parse });
}

export type LedgerScript<Result> = Script<readonly [Result, ...unknown[]]>;
