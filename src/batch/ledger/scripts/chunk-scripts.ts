import { ledgerScript } from './ledger-prelude.ts';

/**
 * Own key: the lock of the job. Returns the kind of a claim (settlement.ts) and what it has, as JSON; with 'send', the
 * only one after which something is sent, also the frame and the payload.
 *
 * A claim that the rate refuses gets a turn of its own: if all of them waited for the next free moment, each of these
 * moments would bring all waiting jobs back. A claim that comes up to LATE_MS after its turn does not move the turns of
 * the others.
 *
 * The same attempt may repeat its claim and gets the same result: after a reconnect the client repeats commands whose
 * reply it did not receive.
 */
export const claimChunk = ledgerScript<Buffer>(
  'claim',
  `
local LATE_MS = 200
local chunk, nonce, token, mostSent = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4])
if redis.call('GET', KEYS[12]) ~= token then return { 'lost' } end
alsoWhenFull()
local phase, state, now = field('phase'), stateOf(chunk), clock()
if not phase or state == NONE then return { 'gone' } end
if state == SETTLED then return { 'settled' } end
local size, delivery = sizeOf(chunk), field('delivery')
local bytes = redis.call('HGET', payload, chunk)
local underWay = state == SENDING or state == SENDING_POSSIBLY_SENT
local possiblySent = underWay or state == PENDING_POSSIBLY_SENT
local function send(possiblySent)
  local ms = msToDeadline(now)
  local said = { size = size, possiblySent = possiblySent and timesSent(chunk) or 0,
    delivery = delivery == 'at-most-once' and delivery or 'at-least-once',
    bisect = field('bisect') == '1', msToDeadline = ms >= 0 and ms or nil, root = tonumber(rootOf(chunk)),
    traces = redis.call('HGET', sizes, chunk .. '.traces') or '' }
  return { 'send', cjson.encode(said), field('frame'), bytes }
end
if underWay and bytes and redis.call('HGET', inflight, chunk) == nonce then
  return send(state == SENDING_POSSIBLY_SENT)
end

local function uncount()
  if underWay then add('sending', -size) else addPending(-size, possiblySent) end
end
local function settleAs(claim, failed, code, message)
  uncount()
  setState(chunk, SETTLED)
  release(chunk, size)
  fail(chunk, now, failed, size, code, message)
  moved(now)
  finishIfDone(now)
  return { claim, cjson.encode({ size = size, possiblySent = possiblySent and timesSent(chunk) or 0, code = code }) }
end
local function requeue()
  if not underWay then return end
  uncount()
  setPending(chunk, true)
  redis.call('HDEL', inflight, chunk)
  addPending(size, true)
end

if underWay and delivery == 'at-most-once' then
  -- The attempt that claimed it crashed or lost its job: its outcome is unknown.
  return settleAs('parked', 'unknown', 'OUTCOME_UNKNOWN', 'the worker ended before the service answered')
end
if phase == 'cancelled' then
  if underWay then
    cancelUnderWay(chunk)
    finishIfDone(now)
  end
  return { 'cancelled' }
end
-- The attempt that claimed it ended without a result.
if underWay then countSent(chunk) end
if phase == 'paused' then
  requeue()
  redis.call('HSET', record, 'heldBackAt', now)
  return { 'paused' }
end
if isTooLate(now) then
  if not possiblySent then return settleAs('expired', 'expired', 'EXPIRED', '') end
  return settleAs('expired', 'unknown', 'EXPIRED', 'its deadline passed after an attempt whose outcome is unknown')
end
if not bytes then
  return settleAs('parked', 'unknown', 'PAYLOAD_UNREADABLE', 'its contacts are no longer in Redis')
end
if possiblySent and timesSent(chunk) > mostSent then
  return settleAs('parked', 'unknown', 'OUTCOME_UNKNOWN', 'it was possibly sent as often as UNKNOWN_RESENDS allows')
end
if count('rate') > 0 then
  local nextAt = nextTurn(now)
  if nextAt > now then
    requeue()
    local turn = freeTurn(now)
    redis.call('HSET', record, 'turnsTo', turn + turnOf(chunk))
    return { 'later', cjson.encode({ afterMs = turn - now }) }
  end
  if now - nextAt > LATE_MS then nextAt = now end
  redis.call('HSET', record, 'nextAt', nextAt + turnOf(chunk))
end
uncount()
add('sending', size)
if possiblySent then countTwice(size) end
setState(chunk, possiblySent and SENDING_POSSIBLY_SENT or SENDING)
redis.call('HSET', inflight, chunk, nonce)
moved(now)
return send(possiblySent)`,
  { binary: true },
);

export const suppressInChunk = ledgerScript<'taken' | 'known'>(
  'suppress',
  `
local chunk, nonce, size, taken = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local rest, rows, traceId = unpack(ARGV, 5)
local state, now = stateOf(chunk), clock()
if redis.call('HGET', inflight, chunk) ~= nonce then return { 'known' } end
-- The connection was reopened and has repeated the command.
if sizeOf(chunk) == size - taken then return { 'taken' } end
if sizeOf(chunk) ~= size or state ~= SENDING and state ~= SENDING_POSSIBLY_SENT then return { 'known' } end
alsoWhenFull()
add('sending', -taken)
add('suppressed', taken)
addUnsent(-taken)
-- The claim counted all of them as possibly sent twice.
local sent
if state == SENDING_POSSIBLY_SENT then
  countTwice(-taken)
  sent = timesSent(chunk)
end
noteEnd(chunk, 'suppressed', now, traceId, rows, sent)
leaveRest(chunk, size - taken, rest)
return { 'taken' }`,
);

/**
 * What an attempt makes of the chunk that it has claimed (settlement.ts); of kind 'halved' the payloads of both halves
 * follow.
 *
 * Only a chunk that is being sent can be settled, once, by the attempt that claimed it. One that lost its claim may
 * still report that it was accepted, also while the chunk waits for its next attempt. Under at-most-once, a chunk to try
 * again that was possibly sent becomes unknown.
 */
export const settleChunk = ledgerScript<'settled' | 'known'>(
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

if said.kind == 'halved' and not (said.first > 0 and said.first < size) then error('neither half may be empty') end

local function waitAgain(number, size, possiblySent)
  if isCancelled then
    addUnsent(-size)
    return cancelChunk(number, size, possiblySent)
  end
  setPending(number, possiblySent)
  addPending(size, possiblySent)
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
  waitAgain(number, size, possiblySent)
end

moved(now)
if waits then addPending(-size, true) else add('sending', -size) end
redis.call('HDEL', inflight, chunk)
local unanswered = said.possiblySent or said.state == 'unknown'
-- The claim counted all of them as possibly sent twice.
if possiblySent and not isAccepted and not unanswered then countTwice(-size) end
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
  if said.kind ~= 'halved' then addUnsent(-size) end
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
);
