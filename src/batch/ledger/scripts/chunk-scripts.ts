import { ledgerScript } from './ledger-prelude.ts';

/**
 * Claims a chunk (chunk-state.ts) before an attempt. ARGV: chunk, nonce of the attempt, the worker's token for the job's
 * lock, after how many possibly sent attempts none follows; the last keys are that lock and the count of possibly sent
 * twice. Returns the kind of a claim (settlement.ts) and what it has, as JSON; with 'send', the only one after which
 * something is sent, also the frame and the payload.
 *
 * A claim that the rate refuses gets a turn of its own: if all of them waited for the next free moment, each of these
 * moments would bring all waiting jobs back. A claim that comes up to LATE_MS after its turn does not move the turns of
 * the others.
 *
 * The same attempt may repeat its claim and gets the same result: after a reconnect the client repeats commands whose
 * reply it did not receive.
 */
export const claimChunk = ledgerScript(
  'claim',
  `
local LATE_MS = 200
local chunk, nonce, token = tonumber(ARGV[1]), ARGV[2], ARGV[3]
if redis.call('GET', KEYS[12]) ~= token then return { 'lost' } end
alsoWhenFull()
local phase, state, now = field('phase'), stateOf(chunk), clock()
if not phase or state == NONE then return { 'gone' } end
if state == SETTLED then return { 'settled' } end
local size, delivery = sizeOf(chunk), field('delivery')
local bytes = redis.call('HGET', payload, chunk)
local underWay = state == SENDING or state == SENDING_POSSIBLY_SENT
local possiblySent = underWay or state == PENDING_POSSIBLY_SENT
local function sent() return math.max(1, tonumber(redis.call('HGET', sizes, chunk .. '.sent') or 1)) end
local function send(possiblySent)
  local ms = msToDeadline(now)
  local said = { size = size, possiblySent = possiblySent and sent() or 0,
    delivery = delivery == 'at-most-once' and delivery or 'at-least-once',
    bisect = field('bisect') == '1', msToDeadline = ms >= 0 and ms or nil, root = tonumber(rootOf(chunk)),
    traces = redis.call('HGET', sizes, chunk .. '.traces') or '' }
  return { 'send', cjson.encode(said), field('frame'), bytes }
end
if underWay and bytes and redis.call('HGET', inflight, chunk) == nonce then
  return send(state == SENDING_POSSIBLY_SENT)
end

local function uncount()
  if underWay then return add('sending', -size) end
  add('pending', -size)
  if possiblySent then add('possiblySentPending', -size) end
end
local function settleAs(claim, failed, code, message)
  uncount()
  setState(chunk, SETTLED)
  release(chunk, size)
  fail(chunk, now, failed, size, code, message)
  moved(now)
  finishIfDone(now)
  return { claim, cjson.encode({ size = size, possiblySent = possiblySent and sent() or 0, code = code }) }
end
local function requeue()
  if not underWay then return end
  uncount()
  setState(chunk, PENDING_POSSIBLY_SENT)
  redis.call('HDEL', inflight, chunk)
  add('pending', size)
  add('possiblySentPending', size)
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
if possiblySent and sent() > tonumber(ARGV[4]) then
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
if possiblySent then countTwice(KEYS[13], size) end
setState(chunk, possiblySent and SENDING_POSSIBLY_SENT or SENDING)
redis.call('HSET', inflight, chunk, nonce)
moved(now)
return send(possiblySent)`,
  { extraKeys: 2, binary: true },
);
