import { ledgerScript } from './ledger-prelude.ts';

/** What an attempt makes of the chunk that it has claimed (chunk-state.ts): it is settled, whole or in part. */

/** Makes contacts of a chunk a chunk of their own; the search index, which may not exist, records it. */
const NEW_CHUNK = `
local function newChunk(index, chunk, size, bytes, possiblySent, now)
  local number = chunkCount()
  redis.call('HSET', payload, number, bytes)
  redis.call('HSET', sizes, number, size)
  for _, of in ipairs({ '.root', '.traces', possiblySent and '.sent' or nil }) do
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
 * ARGV: chunk, nonce, the settlement as JSON (settlement.ts) with the trace ids of the service for what it may have
 * accepted, and its payloads, of which the settlement has the numbers. The last keys are the search index, which
 * records new chunks, and the count of possibly sent twice, of which what the service did not take is taken off again.
 *
 * Only a chunk that is being sent can be settled, once, by the attempt that claimed it. One that lost its claim may
 * still report that all contacts were accepted, also while the chunk waits for its next attempt: a chunk only loses
 * contacts, so as many are the same ones. Under at-most-once, contacts to try again that were possibly sent become
 * unknown.
 *
 * Returns ['settled'], ['known'], or ['unfit', size] if the parts do not add up to the chunk, or part of it would keep
 * the payload of the whole.
 */
export const settleChunk = ledgerScript(
  'settle',
  `${NEW_CHUNK}
local chunk, nonce, said = tonumber(ARGV[1]), ARGV[2], cjson.decode(ARGV[3])
local function bytesOf(part) return part.payload and ARGV[3 + part.payload] or '' end
local accepted, split, failed = said.accepted, said.split or {}, said.failed
local rest = said.rest and said.rest.size or 0
local state, size, now = stateOf(chunk), sizeOf(chunk), clock()
alsoWhenFull()
local function noteAccepted()
  if accepted > 0 and said.as then noteEnd(chunk, 'accepted', now, said.as.traceId, said.as.rows) end
end
local allAccepted = accepted == size and rest == 0 and #split == 0 and #failed == 0
if state == PENDING_POSSIBLY_SENT and allAccepted and field('phase') ~= 'cancelled' then
  add('pending', -size)
  add('possiblySentPending', -size)
  add('accepted', size)
  noteAccepted()
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

local restBytes = said.rest and bytesOf(said.rest) or ''
local sum, splitSize = accepted + rest, 0
local fits = restBytes ~= '' or rest == 0 or rest == size
for _, part in ipairs(failed) do
  sum = sum + part.size
  fits = fits and (part.payload or part.size == size)
end
for _, part in ipairs(split) do
  part.size = part.size or size - sum - splitSize
  splitSize = splitSize + part.size
  fits = fits and part.size > 0
end
if not fits or sum + splitSize ~= size then return { 'unfit', size } end

local unanswered = said.rest and said.rest.possiblySent or false
local restPossiblySent = possiblySent or unanswered
moved(now)
add('sending', -size)
add('accepted', accepted)
noteAccepted()
-- The claim counted all of them as possibly sent twice.
if possiblySent then
  local notTaken = splitSize + (unanswered and 0 or rest)
  for _, part in ipairs(failed) do
    if part.state ~= 'unknown' then notTaken = notTaken + part.size end
  end
  if notTaken > 0 then countTwice(KEYS[13], -notTaken) end
end
local function failPart(failedAs, part, code, message, partBytes, rows)
  local name = tostring(chunk)
  if partBytes ~= '' then
    name = chunk .. '.' .. redis.call('HINCRBY', sizes, chunk .. '.parts', 1)
    redis.call('HSET', payload, name, partBytes)
  end
  local before = count('rejected')
  fail(name, now, failedAs, part, code, message)
  if failedAs == 'rejected' then
    event('contact.rejected', 'failure', name, 'contacts', part, 'rows', rows or '', 'code', code)
    if before < 50 and before + part >= 50 and count('accepted') == 0 then
      event('batch.refused', 'rejected', before + part, 'code', code)
    end
  end
end
-- A rejection after a possibly sent attempt proves nothing: the earlier one may have been accepted.
local keepsPayload = restBytes == '' and rest > 0
for _, part in ipairs(failed) do
  failPart(possiblySent and 'unknown' or part.state, part.size, part.code, part.message, bytesOf(part),
    part.rows)
  keepsPayload = keepsPayload or not part.payload
end
local cancelled = field('phase') == 'cancelled'
if rest > 0 and restPossiblySent and field('delivery') == 'at-most-once' then
  failPart('unknown', rest, 'OUTCOME_UNKNOWN', 'the service may have accepted it', restBytes)
  rest = 0
end
local function keepTraces()
  if said.traceIds ~= '' then redis.call('HSET', sizes, chunk .. '.traces', said.traceIds) end
end
if said.isRefused then keepTraces() end
local root = rootOf(chunk)
for _, part in ipairs(split) do
  local number = newChunk(KEYS[12], chunk, part.size, bytesOf(part), possiblySent, now)
  if said.isRefused then redis.call('HSET', sizes, number .. '.root', root) end
end
size = size - splitSize
if rest == 0 then
  release(chunk, size)
  setState(chunk, SETTLED)
  if not keepsPayload then redis.call('HDEL', payload, chunk) end
  finishIfDone(now)
  return { 'settled' }
end
if restBytes ~= '' then
  redis.call('HSET', payload, chunk, restBytes)
  redis.call('HSET', sizes, chunk, rest)
end
if cancelled then
  release(chunk, size)
  cancelChunk(chunk, rest, restPossiblySent)
else
  release(chunk, size - rest)
  if unanswered then countSent(chunk) end
  if unanswered then keepTraces() end
  setState(chunk, restPossiblySent and PENDING_POSSIBLY_SENT or PENDING)
  add('pending', rest)
  if restPossiblySent then add('possiblySentPending', rest) end
end
finishIfDone(now)
return { 'settled' }`,
  { extraKeys: 2 },
);
