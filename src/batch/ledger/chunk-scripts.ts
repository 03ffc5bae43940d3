import { ledgerScript } from './ledger-prelude.ts';

/*
 * The operations on one chunk, each one Lua script: the state of the chunk and the counters of its
 * batch change together or not at all. chunk-state.ts describes the states.
 */

/**
 * Claims a chunk before an attempt. ARGV: chunk, nonce of the attempt, the worker's token for the
 * job's lock, after how many possibly sent attempts none follows; the last keys are that lock and the count of possibly
 * sent twice. Nothing is sent unless the result is ['send', frame, payload, size, number of possibly sent attempts,
 * delivery, bisect 0 or 1, milliseconds to its deadline or -1 for none].
 * Otherwise: ['lost'] another worker owns the job; ['gone'] no such batch or chunk; ['paused'];
 * ['cancelled']; ['settled']; ['expired', size, number of possibly sent attempts, code] its deadline has
 * passed; ['parked', the same] it must not or cannot be sent, and is now unknown; ['later', ms] the rate
 * of the batch does not allow it yet.
 *
 * A claim that the rate refuses gets a turn of its own: if all of them waited for the next
 * free moment, each of these moments would bring all waiting jobs back. A claim that comes up to
 * LATE_MS after its turn does not move the turns of the others.
 *
 * The same attempt may repeat its claim and gets the same result: after a reconnect the client
 * repeats commands whose reply it did not receive.
 */
export const claimChunk = ledgerScript(
  'claim',
  `
local LATE_MS = 200
local chunk, nonce, token = tonumber(ARGV[1]), ARGV[2], ARGV[3]
if redis.call('GET', KEYS[12]) ~= token then return { 'lost' } end
local phase, state, now = field('phase'), stateOf(chunk), clock()
if not phase or state == NONE then return { 'gone' } end
if state == SETTLED then return { 'settled' } end
local size, delivery = sizeOf(chunk), field('delivery')
local bytes = redis.call('HGET', payload, chunk)
local underWay = state == SENDING or state == SENDING_POSSIBLY_SENT
local possiblySent = underWay or state == PENDING_POSSIBLY_SENT
local function sent() return math.max(1, tonumber(redis.call('HGET', sizes, chunk .. '.sent') or 1)) end
local function send(possiblySent)
  return { 'send', field('frame'), bytes, size, possiblySent and sent() or 0, delivery, field('bisect'),
    msToDeadline(now) }
end
if underWay and bytes and redis.call('HGET', inflight, chunk) == nonce then
  return send(state == SENDING_POSSIBLY_SENT)
end

local function uncount()
  if underWay then return add('sending', -size) end
  add('pending', -size)
  if possiblySent then add('maybePending', -size) end
end
local function settleAs(claim, failed, code, message)
  uncount()
  setState(chunk, SETTLED)
  release(chunk, size)
  fail(chunk, now, failed, size, code, message)
  moved(now)
  finishIfDone(now)
  return { claim, size, possiblySent and sent() or 0, code }
end
local function requeue()
  if not underWay then return end
  uncount()
  setState(chunk, PENDING_POSSIBLY_SENT)
  redis.call('HDEL', inflight, chunk)
  add('pending', size)
  add('maybePending', size)
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
  local nextAt = count('nextAt')
  if nextAt > now then
    requeue()
    local turn = freeTurn(now)
    redis.call('HSET', record, 'turnsTo', turn + turnOf(chunk))
    return { 'later', turn - now }
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

/**
 * Asks to send one more part of a chunk that is bisected. ARGV: chunk, nonce of the attempt. Returns ['continue'],
 * or ['stop'] where a claim would not be allowed now: the batch was paused or cancelled, the deadline passed, or another
 * attempt has claimed the chunk. The batch moves by it, so a long bisection is not taken for one that never ended.
 */
export const continueChunk = ledgerScript(
  'continue',
  `
local chunk, now = tonumber(ARGV[1]), clock()
if redis.call('HGET', inflight, chunk) ~= ARGV[2] or not isOpen(field('phase')) or isTooLate(now) then
  return { 'stop' }
end
moved(now)
return { 'continue' }`,
);

/** Makes contacts of a chunk a chunk of their own; the search index, which may not exist, records it. */
const NEW_CHUNK = `
local function newChunk(index, chunk, size, bytes, possiblySent, now)
  local number = count('chunks')
  redis.call('HSET', payload, number, bytes)
  redis.call('HSET', sizes, number, size)
  for _, of in ipairs({ '.again', '.half', possiblySent and '.sent' or nil }) do
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
    if possiblySent then add('maybePending', size) end
    if isOpen(field('phase')) then lookAtOnce(now) end
  end
  return number
end
-- Whether there can be one: an import of an earlier version would count it as one of the list.
local function mayDerive() return field('importedAt') ~= '0' or field('derived') end
`;

/**
 * After so many halves in a row that the service refused, each without an acceptance in the batch since it was made, the
 * contacts are not the cause.
 */
const MAX_FRUITLESS_HALVES = 12;

/** For so long after the last of them their own halves may still be accepted; in milliseconds. */
const FRUITLESS_WAIT_MS = 20_000;

/**
 * Replaces a chunk that the service refuses, and that is at fault by the evidence, by two chunks of its contacts, each
 * with the history of the chunk. ARGV: chunk, nonce; size of the first half, and the payloads of both. The last key is
 * the search index. Returns ['halved']; ['known'] if another attempt has claimed the chunk, or it is settled;
 * ['later'] if it is to be tried again, since halves of halves are not decided yet; ['whole'] if it must be rejected as
 * a whole; or ['unfit', size].
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
if not mayDerive() then return { 'whole' } end
local accepted = count('accepted')
if tonumber(redis.call('HGET', sizes, chunk .. '.half')) == accepted then
  local fruitless = count('fruitlessAt') == accepted and count('fruitless') or 0
  if fruitless >= ${MAX_FRUITLESS_HALVES} then
    return { now - count('fruitlessSince') < ${FRUITLESS_WAIT_MS} and 'later' or 'whole' }
  end
  redis.call('HSET', record, 'fruitless', fruitless + 1, 'fruitlessAt', accepted, 'fruitlessSince', now)
end
moved(now)
add('sending', -size)
redis.call('HDEL', inflight, chunk)
setState(chunk, SETTLED)
redis.call('HDEL', payload, chunk)
for half, part in ipairs({ first, size - first }) do
  local number = newChunk(KEYS[12], chunk, part, ARGV[3 + half], possiblySent, now)
  redis.call('HSET', sizes, number .. '.half', accepted)
end
finishIfDone(now)
return { 'halved' }`,
  { extraKeys: 1 },
);

/**
 * Records the result of an attempt. ARGV: chunk, nonce, contacts accepted; contacts to try again,
 * their payload ('' for that of the chunk), whether this attempt possibly sent them (0, 1); contacts that
 * this attempt did not send, which become a new chunk with the history before it, and their payload; then
 * for each failed part its state (rejected, unknown, expired), size, code, message and payload ('' for
 * that of the chunk). The last key is the search index; it records the new chunk.
 *
 * Counts once however often it is called: only a chunk that is being sent can be settled, and only
 * by the attempt that claimed it. An attempt that lost its claim may still report that all contacts
 * were accepted. Returns ['settled'], ['known'], or ['unfit', size] if the parts do not add up to the
 * chunk, or part of it would keep the payload of the whole.
 *
 * Under at-most-once, contacts to try again that were possibly sent become unknown instead. So they do
 * where there cannot be a new chunk: an import of an earlier version would count it as one of the list.
 */
export const settleChunk = ledgerScript(
  'settle',
  `${NEW_CHUNK}
local chunk, nonce = tonumber(ARGV[1]), ARGV[2]
local accepted, rest, bytes = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local state = stateOf(chunk)
if state ~= SENDING and state ~= SENDING_POSSIBLY_SENT then return { 'known' } end
local size, possiblySent = sizeOf(chunk), state == SENDING_POSSIBLY_SENT
if redis.call('HGET', inflight, chunk) ~= nonce
  and not (possiblySent and accepted == size and rest == 0 and #ARGV == 8) then return { 'known' } end

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

local unanswered, now = ARGV[6] == '1', clock()
local restPossiblySent = possiblySent or unanswered
moved(now)
add('sending', -size)
add('accepted', accepted)
local function failPart(failed, part, code, message, partBytes)
  local name = tostring(chunk)
  if partBytes ~= '' then
    name = chunk .. '.' .. redis.call('HINCRBY', sizes, chunk .. '.parts', 1)
    redis.call('HSET', payload, name, partBytes)
  end
  fail(name, now, failed, part, code, message)
  if failed == 'rejected' then
    event('contact.rejected', 'failure', name, 'contacts', part, 'code', code)
  end
end
-- A rejection after a possibly sent attempt proves nothing: the earlier one may have been accepted.
for at = 9, #ARGV, 5 do
  failPart(possiblySent and 'unknown' or ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3],
    ARGV[at + 4])
end
local keepsPayload = bytes == '' and (rest > 0 or ARGV[13] == '')
local cancelled = field('phase') == 'cancelled'
local maySplit = mayDerive()
if rest > 0 and restPossiblySent
  and (field('delivery') == 'at-most-once' or (split > 0 and not maySplit)) then
  failPart('unknown', rest, 'OUTCOME_UNKNOWN', 'the service may have accepted it', bytes)
  rest = 0
end
if split > 0 and not maySplit then
  rest, bytes, split = rest + split, splitBytes, 0
  restPossiblySent, unanswered = possiblySent, false
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
  setState(chunk, restPossiblySent and PENDING_POSSIBLY_SENT or PENDING)
  add('pending', rest)
  if restPossiblySent then add('maybePending', rest) end
end
finishIfDone(now)
return { 'settled' }`,
  { extraKeys: 1 },
);
