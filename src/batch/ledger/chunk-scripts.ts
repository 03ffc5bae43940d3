import { ledgerScript } from './ledger-prelude.ts';

/**
 * The moves of one chunk, each one script, so that its state and the batch's counters change
 * together or not at all (chunk-state.ts tells the states).
 */

/**
 * Stores the next chunk. ARGV: its number, its size, rows of the source up to its end, its payload,
 * its prints ('' without a find index) and how long these are kept. The last of KEYS is the find hash.
 * A chunk that is stored already is left alone, so that an import may be run again.
 * Answers ['stored'], ['known'] or ['gone'] (the batch was cancelled, its import has ended, or it is
 * no more).
 */
export const storeChunk = ledgerScript(
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
if ARGV[5] ~= '' then
  redis.call('HSET', KEYS[10], chunk, ARGV[5])
  redis.call('PEXPIRE', KEYS[10], ARGV[6])
end
moved(clock())
return { 'stored' }`,
  { extraKeys: 1 },
);

/**
 * Before an attempt. ARGV: chunk, nonce of the attempt, the worker's token for the job's lock, whose
 * key is the last of KEYS. Nothing is sent unless it answers
 * ['send', frame, payload, size, maybe 0 or 1, delivery, bisect 0 or 1].
 * Else: ['lost'] the job is another worker's; ['gone'] no such batch or chunk; ['paused'];
 * ['cancelled']; ['settled']; ['expired']; ['parked'] it must not or cannot be sent, and is unknown
 * now; ['later', ms] the batch's own rate.
 *
 * A claim that is repeated by the same attempt, because its answer was lost on the way, is answered
 * again: a connection that comes back repeats what it had asked.
 */
export const claimChunk = ledgerScript(
  'claim',
  `
local chunk, nonce, token = tonumber(ARGV[1]), ARGV[2], ARGV[3]
if redis.call('GET', KEYS[10]) ~= token then return { 'lost' } end
local phase, state, now = field('phase'), stateOf(chunk), clock()
if not phase or state == NONE then return { 'gone' } end
if state == SETTLED then return { 'settled' } end
local size, delivery = sizeOf(chunk), field('delivery')
local bytes = redis.call('HGET', payload, chunk)
local underWay = state == SENDING or state == MAYBE_SENDING
local maybe = underWay or state == MAYBE_PENDING
local function send(maybe)
  return { 'send', field('frame'), bytes, size, maybe and 1 or 0, delivery, field('bisect') }
end
if underWay and bytes and redis.call('HGET', inflight, chunk) == nonce then
  return send(state == MAYBE_SENDING)
end

local function leave()
  if underWay then return add('sending', -size) end
  add('pending', -size)
  if maybe then add('maybePending', -size) end
end
local function over(failed, code, message)
  leave()
  setState(chunk, SETTLED)
  release(chunk, size)
  fail(chunk, now, failed, size, code, message)
  moved(now)
  finishIfDone(now)
end
local function back()
  if not underWay then return end
  leave()
  setState(chunk, MAYBE_PENDING)
  redis.call('HDEL', inflight, chunk)
  add('pending', size)
  add('maybePending', size)
end

if underWay and delivery == 'at-most-once' then
  -- The attempt that claimed it died or lost its job: nobody knows what became of it.
  over('unknown', 'OUTCOME_UNKNOWN', 'the worker that sent it ended before its answer')
  return { 'parked' }
end
if phase == 'cancelled' then
  if underWay then
    cancelUnderWay(chunk)
    finishIfDone(now)
  end
  return { 'cancelled' }
end
if phase == 'paused' then
  back()
  return { 'paused' }
end
local expiresAt = count('expiresAt')
if expiresAt > 0 and now >= expiresAt and redis.call('HEXISTS', sizes, chunk .. '.late') == 0 then
  if maybe then
    over('unknown', 'EXPIRED', 'its deadline passed after an attempt whose outcome is not known')
  else
    over('expired', 'EXPIRED', '')
  end
  return { 'expired' }
end
if not bytes then
  over('unknown', 'PAYLOAD_UNREADABLE', 'its contacts are not in Redis any more')
  return { 'parked' }
end
local rate = count('rate')
if rate > 0 then
  local nextAt = count('nextAt')
  if nextAt > now then
    back()
    return { 'later', nextAt - now }
  end
  redis.call('HSET', record, 'nextAt', now + math.ceil(size * 1000 / rate))
end
leave()
add('sending', size)
if maybe then add('maybeTwice', size) end
setState(chunk, maybe and MAYBE_SENDING or SENDING)
redis.call('HSET', inflight, chunk, nonce)
moved(now)
return send(maybe)`,
  { extraKeys: 1, binary: true },
);

/**
 * After an attempt. ARGV: chunk, nonce, contacts accepted; contacts that go back, their payload (''
 * for the chunk's own), whether they may have been taken (0, 1); then for each part that failed its
 * state (rejected, unknown, expired), size, code, message and payload ('' for the chunk's own).
 *
 * Counted once however often it is called: only from sending, and by the attempt that has claimed
 * the chunk; one that lost it may still say that all was accepted. Answers ['settled'], ['known'],
 * or ['unfit', size] when the parts do not add up to the chunk, or a part of it would keep the
 * payload of the whole.
 *
 * What goes back in doubt is unknown under at-most-once, whoever asks for it.
 */
export const settleChunk = ledgerScript(
  'settle',
  `
local chunk, nonce = tonumber(ARGV[1]), ARGV[2]
local accepted, rest, bytes = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local state = stateOf(chunk)
if state ~= SENDING and state ~= MAYBE_SENDING then return { 'known' } end
local size, maybe = sizeOf(chunk), state == MAYBE_SENDING
if redis.call('HGET', inflight, chunk) ~= nonce
  and not (maybe and accepted == size and rest == 0 and #ARGV == 6) then return { 'known' } end

local sum = accepted + rest
local fits = accepted >= 0 and rest >= 0 and (bytes ~= '' or rest == 0 or rest == size)
for at = 7, #ARGV, 5 do
  local part = tonumber(ARGV[at + 1])
  sum = sum + part
  fits = fits and part > 0 and (ARGV[at + 4] ~= '' or part == size)
end
if not fits or sum ~= size then return { 'unfit', size } end

local doubt, now = maybe or ARGV[6] == '1', clock()
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
-- After an attempt in doubt a refusal proves nothing: the earlier one may have been taken.
for at = 7, #ARGV, 5 do
  failPart(maybe and 'unknown' or ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3],
    ARGV[at + 4])
end
local keepsPayload = bytes == '' and (rest > 0 or ARGV[11] == '')
if rest > 0 and doubt and field('delivery') == 'at-most-once' then
  failPart('unknown', rest, 'OUTCOME_UNKNOWN', 'it may have been taken', bytes)
  rest = 0
end
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
if field('phase') == 'cancelled' then
  release(chunk, size)
  cancelChunk(chunk, rest, doubt)
else
  release(chunk, size - rest)
  setState(chunk, doubt and MAYBE_PENDING or PENDING)
  add('pending', rest)
  if doubt then add('maybePending', rest) end
end
finishIfDone(now)
return { 'settled' }`,
);

/**
 * Sends again what failed: its contacts become a new chunk. ARGV: name of the failure, the state and
 * code it must have ('' for any code). Answers ['redriven', new chunk], or ['known'] when it is not
 * there (any more), or ['refused', phase], or ['gone'].
 *
 * The last of KEYS is the find hash, which is told where the contacts stand now.
 *
 * Where the batch's deadline has passed it is lifted for the new chunk: a person wants it sent.
 */
export const redriveFailure = ledgerScript(
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
local expiresAt = count('expiresAt')
if expiresAt > 0 and now >= expiresAt then redis.call('HSET', sizes, chunk .. '.late', 1) end
-- Sent again on purpose: what becomes of it is known again, but it may arrive twice.
setState(chunk, PENDING)
add(failure.state, -size)
add('pending', size)
if failure.state == 'unknown' then add('maybeTwice', size) end
redis.call('INCRBY', unsent, size)
redis.call('HSET', record, 'chunks', chunk + 1, 'phase', 'sending', 'finishedAt', 0)
moved(now)
for index = 1, 6 do redis.call('PERSIST', KEYS[index]) end
if redis.call('EXISTS', KEYS[10]) == 1 then
  redis.call('HSET', KEYS[10], '>' .. name, chunk, chunk, '')
end
return { 'redriven', chunk }`,
  { extraKeys: 1 },
);

/**
 * A person knows what became of an unknown failure, or gives it up. ARGV: its name, 'accepted' or
 * 'cancelled', the state its contacts are counted under from now on. They are not kept any more. The
 * last of KEYS is the find hash, which is told what was decided.
 * Answers ['resolved'], or ['known'] when it is not there (any more) or not unknown, or ['gone'].
 */
export const resolveFailure = ledgerScript(
  'resolve',
  `
local name = ARGV[1]
if not field('phase') then return { 'gone' } end
local kept = redis.call('HGET', failures, name)
local failure = kept and cjson.decode(kept)
if not failure or failure.state ~= 'unknown' then return { 'known' } end
redis.call('HDEL', failures, name)
redis.call('HDEL', payload, name)
add('unknown', -failure.size)
add(ARGV[2], failure.size)
if redis.call('EXISTS', KEYS[10]) == 1 then
  redis.call('HSET', KEYS[10], '>' .. name, ARGV[2] .. ' ' .. failure.size)
end
return { 'resolved' }`,
  { extraKeys: 1 },
);
