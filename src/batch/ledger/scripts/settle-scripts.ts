import { ledgerScript } from './ledger-prelude.ts';

/*
 * What an attempt that has claimed a chunk makes of it, each one Lua script: it is settled, whole or in part, or halved.
 * chunk-state.ts describes the states.
 */

/** Makes contacts of a chunk a chunk of their own; the search index, which may not exist, records it. */
const NEW_CHUNK = `
local function newChunk(index, chunk, size, bytes, possiblySent, now)
  local number = chunkCount()
  redis.call('HSET', payload, number, bytes)
  redis.call('HSET', sizes, number, size)
  for _, of in ipairs({ '.again', '.root', '.traces', possiblySent and '.sent' or nil }) do
    local kept = redis.call('HGET', sizes, chunk .. of)
    if kept then redis.call('HSET', sizes, number .. of, kept) end
  end
  redis.call('HSET', record, 'chunks', number + 1)
  add('derived', 1)
  local name = chunk .. '.' .. redis.call('HINCRBY', sizes, chunk .. '.parts', 1)
  if redis.call('EXISTS', index) == 1 then redis.call('HSET', index, '>' .. name, number, number, '') end
  if field('phase') == 'cancelled' then
    cancelChunk(number, size, possiblySent)
    redis.call('DECRBY', unsent, size)
  else
    setState(number, possiblySent and PENDING_POSSIBLY_SENT or PENDING)
    add('pending', size)
    if possiblySent then add('possiblySentPending', size) end
    if isOpen(field('phase')) then lookAtOnce(now) end
  end
  return number
end
`;

/**
 * Replaces a chunk that the service refuses, perhaps because of one of its contacts, by two chunks of its contacts, each
 * with the history of the chunk. ARGV: chunk, nonce; size of the first half, and the payloads of both; the trace ids
 * of the service for the attempts that may have been accepted. The last keys are the search index and the count of
 * possibly sent twice. Returns ['halved']; ['known'] if another attempt has claimed the chunk, or it is settled; or
 * ['unfit', size].
 */
export const halveChunk = ledgerScript(
  'halve',
  `${NEW_CHUNK}
local chunk, nonce, now = tonumber(ARGV[1]), ARGV[2], clock()
local state = stateOf(chunk)
if state ~= SENDING and state ~= SENDING_POSSIBLY_SENT then return { 'known' } end
if redis.call('HGET', inflight, chunk) ~= nonce then return { 'known' } end
local size, first, possiblySent = sizeOf(chunk), tonumber(ARGV[3]), state == SENDING_POSSIBLY_SENT
if first < 1 or first >= size or ARGV[4] == '' or ARGV[5] == '' then return { 'unfit', size } end
alsoWhenFull()
moved(now)
if ARGV[6] ~= '' then redis.call('HSET', sizes, chunk .. '.traces', ARGV[6]) end
add('sending', -size)
if possiblySent then countTwice(KEYS[13], -size) end
redis.call('HDEL', inflight, chunk)
setState(chunk, SETTLED)
redis.call('HDEL', payload, chunk)
local root = rootOf(chunk)
for half, part in ipairs({ first, size - first }) do
  local number = newChunk(KEYS[12], chunk, part, ARGV[3 + half], possiblySent, now)
  redis.call('HSET', sizes, number .. '.root', root)
end
finishIfDone(now)
return { 'halved' }`,
  { extraKeys: 2 },
);

/**
 * Records the result of an attempt. ARGV: chunk, nonce, contacts accepted; contacts to try again,
 * their payload ('' for that of the chunk), whether this attempt possibly sent them (0, or 1 and the trace ids of the service for all such attempts); contacts that
 * this attempt did not send, which become a new chunk with the history before it, and their payload; then
 * for each failed part its state (rejected, unknown, expired), size, code, message and payload ('' for
 * that of the chunk). The last keys are the search index, which records the new chunk, and the count of possibly sent
 * twice, of which what the service did not take is taken off again.
 *
 * Counts once however often it is called: only a chunk that is being sent can be settled, and only
 * by the attempt that claimed it. An attempt that lost its claim may still report that all contacts
 * were accepted, also while the chunk waits for its next attempt: a chunk only loses contacts, so as many are the same
 * ones. Returns ['settled'], ['known'], or ['unfit', size] if the parts do not add up to the chunk, or part of it would
 * keep the payload of the whole.
 *
 * Under at-most-once, contacts to try again that were possibly sent become unknown instead.
 */
export const settleChunk = ledgerScript(
  'settle',
  `${NEW_CHUNK}
local chunk, nonce = tonumber(ARGV[1]), ARGV[2]
local accepted, rest, bytes = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local state, size, now = stateOf(chunk), sizeOf(chunk), clock()
alsoWhenFull()
local allAccepted = accepted == size and rest == 0 and #ARGV == 8
if state == PENDING_POSSIBLY_SENT and allAccepted and field('phase') ~= 'cancelled' then
  add('pending', -size)
  add('possiblySentPending', -size)
  add('accepted', size)
  release(chunk, size)
  setState(chunk, SETTLED)
  redis.call('HDEL', payload, chunk)
  moved(now)
  finishIfDone(now)
  return { 'settled' }
end
if state ~= SENDING and state ~= SENDING_POSSIBLY_SENT then return { 'known' } end
local possiblySent = state == SENDING_POSSIBLY_SENT
if redis.call('HGET', inflight, chunk) ~= nonce and not (possiblySent and allAccepted) then
  return { 'known' }
end

local split, splitBytes = tonumber(ARGV[7]), ARGV[8]
local sum = accepted + rest + split
local fits = accepted >= 0 and rest >= 0 and (bytes ~= '' or rest == 0 or rest == size)
  and (split == 0 or (split > 0 and splitBytes ~= ''))
for at = 9, #ARGV, 5 do
  local part = tonumber(ARGV[at + 1])
  sum = sum + part
  fits = fits and part > 0 and (ARGV[at + 4] ~= '' or part == size)
end
if not fits or sum ~= size then return { 'unfit', size } end

local unanswered, traceIds = string.sub(ARGV[6], 1, 1) == '1', string.sub(ARGV[6], 3)
local restPossiblySent = possiblySent or unanswered
moved(now)
add('sending', -size)
add('accepted', accepted)
-- The claim counted all of them as possibly sent twice.
if possiblySent then
  local notTaken = split + (unanswered and 0 or rest)
  for at = 9, #ARGV, 5 do
    if ARGV[at] ~= 'unknown' then notTaken = notTaken + tonumber(ARGV[at + 1]) end
  end
  if notTaken > 0 then countTwice(KEYS[13], -notTaken) end
end
local function failPart(failed, part, code, message, partBytes)
  local name = tostring(chunk)
  if partBytes ~= '' then
    name = chunk .. '.' .. redis.call('HINCRBY', sizes, chunk .. '.parts', 1)
    redis.call('HSET', payload, name, partBytes)
  end
  local before = count('rejected')
  fail(name, now, failed, part, code, message)
  if failed == 'rejected' then
    event('contact.rejected', 'failure', name, 'contacts', part, 'code', code)
    if before < 50 and before + part >= 50 and count('accepted') == 0 then
      event('batch.refused', 'rejected', before + part, 'code', code)
    end
  end
end
-- A rejection after a possibly sent attempt proves nothing: the earlier one may have been accepted.
for at = 9, #ARGV, 5 do
  failPart(possiblySent and 'unknown' or ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3],
    ARGV[at + 4])
end
local keepsPayload = bytes == '' and (rest > 0 or ARGV[13] == '')
local cancelled = field('phase') == 'cancelled'
if rest > 0 and restPossiblySent and field('delivery') == 'at-most-once' then
  failPart('unknown', rest, 'OUTCOME_UNKNOWN', 'the service may have accepted it', bytes)
  rest = 0
end
if split > 0 then newChunk(KEYS[12], chunk, split, splitBytes, possiblySent, now) end
size = size - split
if rest == 0 then
  release(chunk, size)
  setState(chunk, SETTLED)
  if not keepsPayload then redis.call('HDEL', payload, chunk) end
  finishIfDone(now)
  return { 'settled' }
end
if bytes ~= '' then
  redis.call('HSET', payload, chunk, bytes)
  redis.call('HSET', sizes, chunk, rest)
end
if cancelled then
  release(chunk, size)
  cancelChunk(chunk, rest, restPossiblySent)
else
  release(chunk, size - rest)
  if unanswered then countSent(chunk) end
  if unanswered and traceIds ~= '' then redis.call('HSET', sizes, chunk .. '.traces', traceIds) end
  setState(chunk, restPossiblySent and PENDING_POSSIBLY_SENT or PENDING)
  add('pending', rest)
  if restPossiblySent then add('possiblySentPending', rest) end
end
finishIfDone(now)
return { 'settled' }`,
  { extraKeys: 2 },
);
