import { ledgerScript } from './ledger-prelude.ts';

/**
 * What an attempt makes of the chunk that it has claimed (chunk-state.ts). ARGV: chunk, nonce, the settlement as JSON
 * (settlement.ts) with the trace ids of the service for what it may have accepted; or kind 'halved', how many contacts
 * the first half has, and the payloads of both. The last keys are the search index, which may not exist and records new
 * chunks, and the count of possibly sent twice, of which what the service did not take is taken off again.
 *
 * Only a chunk that is being sent can be settled, once, by the attempt that claimed it. One that lost its claim may
 * still report that it was accepted, also while the chunk waits for its next attempt. Under at-most-once, a chunk to try
 * again that was possibly sent becomes unknown.
 *
 * Returns ['settled'] or ['known'].
 */
export const settleChunk = ledgerScript(
  'settle',
  `
local chunk, nonce, said = tonumber(ARGV[1]), ARGV[2], cjson.decode(ARGV[3])
local state, size, now = stateOf(chunk), sizeOf(chunk), clock()
local isAccepted, isCancelled = said.kind == 'accepted', field('phase') == 'cancelled'
alsoWhenFull()
local waits = state == PENDING_POSSIBLY_SENT and isAccepted and not isCancelled
if not waits and state ~= SENDING and state ~= SENDING_POSSIBLY_SENT then return { 'known' } end
local possiblySent = waits or state == SENDING_POSSIBLY_SENT
if redis.call('HGET', inflight, chunk) ~= nonce and not (possiblySent and isAccepted) then return { 'known' } end

local function waitAgain(number, size, possiblySent)
  if isCancelled then
    redis.call('DECRBY', unsent, size)
    return cancelChunk(number, size, possiblySent)
  end
  setState(number, possiblySent and PENDING_POSSIBLY_SENT or PENDING)
  add('pending', size)
  if possiblySent then add('possiblySentPending', size) end
end
local function newChunk(size, bytes)
  local number = chunkCount()
  redis.call('HSET', payload, number, bytes)
  redis.call('HSET', sizes, number, size, number .. '.root', rootOf(chunk))
  local sent = redis.call('HGET', sizes, chunk .. '.sent')
  if possiblySent and sent then redis.call('HSET', sizes, number .. '.sent', sent) end
  if said.traceIds ~= '' then redis.call('HSET', sizes, number .. '.traces', said.traceIds) end
  redis.call('HSET', record, 'chunks', number + 1)
  add('derived', 1)
  local name = chunk .. '.' .. redis.call('HINCRBY', sizes, chunk .. '.parts', 1)
  if redis.call('EXISTS', KEYS[12]) == 1 then redis.call('HSET', KEYS[12], '>' .. name, number, number, '') end
  waitAgain(number, size, possiblySent)
end

moved(now)
add(waits and 'pending' or 'sending', -size)
if waits then add('possiblySentPending', -size) end
redis.call('HDEL', inflight, chunk)
local unanswered = said.possiblySent or said.state == 'unknown'
-- The claim counted all of them as possibly sent twice.
if possiblySent and not isAccepted and not unanswered then countTwice(KEYS[13], -size) end
local againPossiblySent = possiblySent or unanswered
if said.kind == 'back' and againPossiblySent and field('delivery') == 'at-most-once' then
  said = { kind = 'failed', state = 'unknown', code = 'OUTCOME_UNKNOWN', message = 'the service may have accepted it' }
end
if said.kind == 'back' then
  if unanswered and not isCancelled then
    countSent(chunk)
    if said.traceIds ~= '' then redis.call('HSET', sizes, chunk .. '.traces', said.traceIds) end
  end
  waitAgain(chunk, size, againPossiblySent)
else
  setState(chunk, SETTLED)
  if said.kind ~= 'halved' then redis.call('DECRBY', unsent, size) end
  if said.kind ~= 'failed' then redis.call('HDEL', payload, chunk) end
end
if said.kind == 'accepted' then
  add('accepted', size)
  noteEnd(chunk, 'accepted', now, said.traceId or '', said.rows)
elseif said.kind == 'halved' then
  newChunk(said.first, ARGV[4])
  newChunk(size - said.first, ARGV[5])
  if isOpen(field('phase')) then lookAtOnce(now) end
elseif said.kind == 'failed' then
  -- A rejection after a possibly sent attempt proves nothing: the earlier one may have been accepted.
  local failedAs, before = possiblySent and 'unknown' or said.state, count('rejected')
  fail(chunk, now, failedAs, size, said.code, said.message)
  if failedAs == 'rejected' then
    event('contact.rejected', 'failure', chunk, 'contacts', size, 'rows', said.rows or '', 'code', said.code)
    if before < 50 and before + size >= 50 and count('accepted') == 0 then
      event('batch.refused', 'rejected', before + size, 'code', said.code)
    end
  end
end
finishIfDone(now)
return { 'settled' }`,
  { extraKeys: 2 },
);
