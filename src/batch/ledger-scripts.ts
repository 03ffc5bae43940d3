import { defineScript } from '../redis/script.ts';
import { stateNumber, type ChunkState } from './chunk-state.ts';

/**
 * The moves of the ledger, each one script, so that a chunk's state and the batch's counters change
 * together or not at all (chunk-state.ts tells the states). KEYS of all, in this order: the batch's
 * record, chunks, payload, sizes, inflight, failures; then the account's unsent counter, its events
 * and its set of batches.
 *
 * Scripts answer lists whose first element is a word.
 */
const KEY_COUNT = 9;

const number = (state: ChunkState) => stateNumber(state);

const PRELUDE = `
local record, chunks, payload, sizes, inflight, failures = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local unsent, events, batches = KEYS[7], KEYS[8], KEYS[9]
local PENDING, MAYBE_PENDING = ${number('pending')}, ${number('maybe-pending')}
local SENDING, MAYBE_SENDING = ${number('sending')}, ${number('maybe-sending')}
local SETTLED = ${number('settled')}

local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function field(name) return redis.call('HGET', record, name) end
local function count(name) return tonumber(field(name)) or 0 end
local function add(name, by) if by ~= 0 then redis.call('HINCRBY', record, name, by) end end
local function stateOf(chunk)
  return redis.call('BITFIELD', chunks, 'GET', 'u4', '#' .. chunk)[1]
end
local function setState(chunk, state)
  redis.call('BITFIELD', chunks, 'SET', 'u4', '#' .. chunk, state)
end
local function sizeOf(chunk)
  return tonumber(redis.call('HGET', sizes, chunk)) or count('chunkSize')
end
local function event(name, ...)
  redis.call('XADD', events, 'MAXLEN', '~', 10000, '*', 'event', name, 'batch', field('id'), ...)
end
local function isOpen(phase) return phase == 'importing' or phase == 'sending' end

-- Nothing is pending and nothing more will come: the batch is over.
local function finishIfDone(now)
  local phase = field('phase')
  if count('pending') + count('sending') > 0 or field('importedAt') == '0' then return end
  if phase ~= 'sending' and phase ~= 'cancelled' then return end
  if field('finishedAt') ~= '0' then return end
  redis.call('HSET', record, 'finishedAt', now)
  if phase == 'sending' then redis.call('HSET', record, 'phase', 'finished') end
  for index = 1, 6 do redis.call('PEXPIRE', KEYS[index], count('retentionMs')) end
  event('batch.finished', 'total', count('total'), 'accepted', count('accepted'),
    'rejected', count('rejected'), 'unknown', count('unknown'), 'expired', count('expired'),
    'cancelled', count('cancelled'))
end

-- A chunk that comes back to a batch that was cancelled meanwhile.
local function cancelChunk(chunk, size, maybe)
  setState(chunk, maybe and MAYBE_PENDING or PENDING)
  add(maybe and 'unknown' or 'cancelled', size)
end

-- Contacts that were not accepted, under the chunk's number or, for a part of it, number.part.
local function fail(name, now, state, size, code, message)
  add(state, size)
  redis.call('HSET', failures, name, cjson.encode({ at = now, state = state, size = size,
    code = code, message = message }))
end
local function release(chunk, size)
  redis.call('HDEL', inflight, chunk)
  redis.call('DECRBY', unsent, size)
end
`;

const script = (name: string, lua: string) =>
  defineScript({ name: `ledger ${name}`, keys: KEY_COUNT, lua: `${PRELUDE}${lua}` });

/**
 * Begins a batch, or goes on with the one that has this id. ARGV: id, fingerprint of the plan and
 * the source, retention, then field and value of the plan in turn.
 * Answers ['begun'], ['known'] or ['different'].
 */
export const beginBatch = script(
  'begin',
  `
local known = field('fingerprint')
if known then return { known == ARGV[2] and 'known' or 'different' } end
local now = clock()
redis.call('HSET', record, 'id', ARGV[1], 'fingerprint', ARGV[2], 'retentionMs', ARGV[3],
  'phase', 'importing', 'begunAt', now, 'movedAt', now, 'importedAt', 0, 'finishedAt', 0,
  'nextAt', 0, unpack(ARGV, 4))
redis.call('ZADD', batches, now, ARGV[1])
return { 'begun' }`,
);

/**
 * Stores the next chunk. ARGV: its number, its size, rows of the source up to its end, its payload.
 * A chunk that is stored already is left alone, so that an import may be run again.
 * Answers ['stored'], ['known'] or ['gone'] (the batch was cancelled, or is no more).
 */
export const storeChunk = script(
  'store',
  `
local chunk, size = tonumber(ARGV[1]), tonumber(ARGV[2])
local phase = field('phase')
if not phase or phase == 'cancelled' then return { 'gone' } end
if chunk < count('chunks') then return { 'known' } end
if chunk > count('chunks') or field('importedAt') ~= '0' then return { 'gone' } end
redis.call('HSET', payload, chunk, ARGV[4])
if size ~= count('chunkSize') then redis.call('HSET', sizes, chunk, size) end
setState(chunk, PENDING)
redis.call('HSET', record, 'chunks', chunk + 1, 'rows', ARGV[3])
add('total', size)
add('pending', size)
redis.call('INCRBY', unsent, size)
return { 'stored' }`,
);

/** The import has ended. ARGV: rows refused, rows that were duplicates. Answers ['imported']. */
export const endImport = script(
  'end import',
  `
if not field('phase') then return { 'gone' } end
if field('importedAt') == '0' then
  local now = clock()
  redis.call('HSET', record, 'importedAt', now, 'refusedRows', ARGV[1], 'duplicateRows', ARGV[2])
  if field('phase') == 'importing' then redis.call('HSET', record, 'phase', 'sending') end
  if field('resumeTo') == 'importing' then redis.call('HSET', record, 'resumeTo', 'sending') end
  finishIfDone(now)
end
return { 'imported' }`,
);

/**
 * Before an attempt. ARGV: chunk, nonce of the attempt, key of the job's lock, the worker's token
 * for it. Nothing is sent unless it answers
 * ['send', frame, payload, size, maybe 0 or 1, delivery].
 * Else: ['lost'] the job is another worker's; ['gone'] no such batch; ['paused']; ['cancelled'];
 * ['settled', state]; ['expired']; ['parked'] an earlier attempt was under way and may not be
 * repeated; ['later', ms] the batch's own rate.
 */
export const claimChunk = defineScript({
  name: 'ledger claim',
  keys: KEY_COUNT + 1,
  binary: true,
  lua: `${PRELUDE}
local chunk, nonce, token = tonumber(ARGV[1]), ARGV[2], ARGV[3]
if redis.call('GET', KEYS[10]) ~= token then return { 'lost' } end
local phase = field('phase')
if not phase then return { 'gone' } end
local state = stateOf(chunk)
local size = sizeOf(chunk)
local now = clock()
local underWay = state == SENDING or state == MAYBE_SENDING
if not underWay and state ~= PENDING and state ~= MAYBE_PENDING then return { 'settled', state } end
if underWay and field('delivery') == 'at-most-once' then
  -- The attempt that claimed it died or lost its job: nobody knows what became of it.
  setState(chunk, SETTLED)
  release(chunk, size)
  add('sending', -size)
  fail(chunk, now, 'unknown', size, 'OUTCOME_UNKNOWN', 'the worker that sent it ended before its answer')
  redis.call('HSET', record, 'movedAt', now)
  finishIfDone(now)
  return { 'parked' }
end
local maybe = underWay or state == MAYBE_PENDING
if phase == 'cancelled' then
  if underWay then
    add('sending', -size)
    release(chunk, size)
    cancelChunk(chunk, size, true)
    finishIfDone(now)
  end
  return { 'cancelled' }
end
local function back()
  if not underWay then return end
  setState(chunk, MAYBE_PENDING)
  redis.call('HDEL', inflight, chunk)
  add('sending', -size)
  add('pending', size)
  add('maybePending', size)
end
if phase == 'paused' then
  back()
  return { 'paused' }
end
local function leave()
  if underWay then
    add('sending', -size)
  else
    add('pending', -size)
    if maybe then add('maybePending', -size) end
  end
end
local expiresAt = count('expiresAt')
if expiresAt > 0 and now >= expiresAt then
  leave()
  setState(chunk, SETTLED)
  release(chunk, size)
  fail(chunk, now, maybe and 'unknown' or 'expired', size, 'EXPIRED', '')
  redis.call('HSET', record, 'movedAt', now)
  finishIfDone(now)
  return { 'expired' }
end
local rate = count('rate')
if rate > 0 then
  local nextAt = count('nextAt')
  if nextAt > now then
    back()
    return { 'later', nextAt - now }
  end
  redis.call('HSET', record, 'nextAt', math.max(now, nextAt) + math.ceil(size * 1000 / rate))
end
local bytes = redis.call('HGET', payload, chunk)
if not bytes then return { 'gone' } end
leave()
add('sending', size)
if maybe then add('maybeTwice', size) end
setState(chunk, maybe and MAYBE_SENDING or SENDING)
redis.call('HSET', inflight, chunk, nonce)
redis.call('HSET', record, 'movedAt', now)
return { 'send', field('frame'), bytes, size, maybe and 1 or 0, field('delivery') }`,
});

/**
 * After an attempt. ARGV: chunk, nonce, contacts accepted; contacts that go back, their payload (''
 * for the chunk's own), whether they may have been taken (0, 1); then for each part that failed its
 * state (rejected, unknown, expired), size, code, message and payload ('' for the chunk's own).
 *
 * Counted once however often it is called: only from sending, and by the attempt that has claimed
 * the chunk; one that lost it may still say that all was accepted. Answers ['settled', pending
 * contacts of the chunk] or ['known'].
 */
export const settleChunk = script(
  'settle',
  `
local chunk, nonce = tonumber(ARGV[1]), ARGV[2]
local accepted, rest = tonumber(ARGV[3]), tonumber(ARGV[4])
local state = stateOf(chunk)
if state ~= SENDING and state ~= MAYBE_SENDING then return { 'known' } end
local size = sizeOf(chunk)
local mine = redis.call('HGET', inflight, chunk) == nonce
if not mine and accepted ~= size then return { 'known' } end
local maybe = state == MAYBE_SENDING
local doubt = maybe or ARGV[6] == '1'
local now = clock()
redis.call('HSET', record, 'movedAt', now)
add('sending', -size)
add('accepted', accepted)
local keepsPayload = rest > 0 and ARGV[5] == ''
local part = tonumber(redis.call('HGET', sizes, chunk .. '.parts')) or 0
for at = 7, #ARGV, 5 do
  local failed, count = ARGV[at], tonumber(ARGV[at + 1])
  if maybe then failed = 'unknown' end
  local name = tostring(chunk)
  if ARGV[at + 4] == '' then
    keepsPayload = true
  else
    part = part + 1
    name = chunk .. '.' .. part
    redis.call('HSET', payload, name, ARGV[at + 4])
  end
  fail(name, now, failed, count, ARGV[at + 2], ARGV[at + 3])
  if failed == 'rejected' then
    event('contact.rejected', 'failure', name, 'contacts', count, 'code', ARGV[at + 2])
  end
end
if part > 0 then redis.call('HSET', sizes, chunk .. '.parts', part) end
if rest > 0 and field('phase') == 'cancelled' then
  release(chunk, size)
  redis.call('HSET', sizes, chunk, rest)
  if ARGV[5] ~= '' then redis.call('HSET', payload, chunk, ARGV[5]) end
  cancelChunk(chunk, rest, doubt)
elseif rest > 0 then
  release(chunk, size - rest)
  if ARGV[5] ~= '' then
    redis.call('HSET', payload, chunk, ARGV[5])
    redis.call('HSET', sizes, chunk, rest)
  end
  setState(chunk, doubt and MAYBE_PENDING or PENDING)
  add('pending', rest)
  if doubt then add('maybePending', rest) end
else
  release(chunk, size)
  setState(chunk, SETTLED)
  if not keepsPayload then redis.call('HDEL', payload, chunk) end
end
finishIfDone(now)
return { 'settled', rest }`,
);

/**
 * Pauses, resumes or cancels, whatever the number of chunks. ARGV: pause, resume or cancel. What is
 * being sent is let finish; it takes effect at the next claim. Answers ['done', phase], or
 * ['refused', phase] where that phase does not allow it, or ['gone'].
 */
export const steerBatch = script(
  'steer',
  `
local phase, verb, now = field('phase'), ARGV[1], clock()
if not phase then return { 'gone' } end
if verb == 'pause' and isOpen(phase) then
  redis.call('HSET', record, 'phase', 'paused', 'resumeTo', phase)
elseif verb == 'resume' and phase == 'paused' then
  -- Claims in between gave their jobs up: all that is pending gets a job anew.
  redis.call('HSET', record, 'phase', field('resumeTo'), 'queued', 0, 'movedAt', now)
  finishIfDone(now)
elseif verb == 'cancel' and (isOpen(phase) or phase == 'paused') then
  local pending, maybe = count('pending'), count('maybePending')
  redis.call('HSET', record, 'phase', 'cancelled', 'pending', 0, 'maybePending', 0)
  if field('importedAt') == '0' then redis.call('HSET', record, 'importedAt', now) end
  add('unknown', maybe)
  add('cancelled', pending - maybe)
  redis.call('DECRBY', unsent, pending)
  finishIfDone(now)
elseif not (verb == 'pause' and phase == 'paused') and not (verb == 'cancel' and phase == 'cancelled')
  and not (verb == 'resume' and isOpen(phase)) then
  return { 'refused', phase }
end
return { 'done', field('phase') }`,
);

/**
 * Sends again what failed: its contacts become a new chunk. ARGV: name of the failure, the state and
 * code it must have ('' for any code). Answers ['redriven', new chunk], or ['known'] when it is not
 * there (any more), or ['refused', phase].
 */
export const redriveFailure = script(
  'redrive',
  `
local name, phase = ARGV[1], field('phase')
if not phase then return { 'gone' } end
if phase ~= 'finished' and phase ~= 'sending' then return { 'refused', phase } end
local kept = redis.call('HGET', failures, name)
local bytes = redis.call('HGET', payload, name)
if not kept or not bytes then return { 'known' } end
local failure = cjson.decode(kept)
if failure.state ~= ARGV[2] or (ARGV[3] ~= '' and failure.code ~= ARGV[3]) then return { 'known' } end
local chunk, size, now = count('chunks'), failure.size, clock()
redis.call('HDEL', failures, name)
redis.call('HDEL', payload, name)
redis.call('HSET', payload, chunk, bytes)
redis.call('HSET', sizes, chunk, size)
-- Sent again on purpose: what becomes of it is known again, but it may arrive twice.
setState(chunk, PENDING)
add(failure.state, -size)
add('pending', size)
if failure.state == 'unknown' then add('maybeTwice', size) end
redis.call('INCRBY', unsent, size)
redis.call('HSET', record, 'chunks', chunk + 1, 'phase', 'sending', 'finishedAt', 0, 'movedAt', now)
for index = 1, 6 do redis.call('PERSIST', KEYS[index]) end
return { 'redriven', chunk }`,
);

/**
 * Which chunks lack a job. ARGV: how many to look at. Answers ['chunks', first, end] of those that
 * were stored after the last that was given a job, or ['none'].
 */
export const unqueuedChunks = script(
  'unqueued',
  `
local phase = field('phase')
if not phase or not isOpen(phase) then return { 'none' } end
local first, last = count('queued'), count('chunks')
if first >= last then return { 'none' } end
return { 'chunks', first, math.min(last, first + tonumber(ARGV[1])) }`,
);

/** Chunks up to ARGV[2] have jobs now, given that the next without was ARGV[1]. Answers ['queued']. */
export const markQueued = script(
  'queued',
  `
if count('queued') == tonumber(ARGV[1]) then redis.call('HSET', record, 'queued', ARGV[2]) end
return { 'queued' }`,
);

/**
 * A batch in which nothing has moved for ARGV[1] milliseconds although contacts are pending: its
 * jobs were lost, or gave themselves up while it was paused. All its chunks get a job anew; those
 * that are settled know it. Answers ['stalled'] or ['moving'].
 */
export const restartStalled = script(
  'restart',
  `
local phase, now = field('phase'), clock()
if not phase or not isOpen(phase) then return { 'moving' } end
if count('pending') == 0 or count('queued') < count('chunks') then return { 'moving' } end
if now - count('movedAt') < tonumber(ARGV[1]) then return { 'moving' } end
redis.call('HSET', record, 'queued', 0, 'movedAt', now)
event('batch.stalled', 'pending', count('pending'))
return { 'stalled' }`,
);
