import { DONE_MS } from '../../../redis/keys.ts';
import { ledgerScript } from './ledger-prelude.ts';

/**
 * What people do with contacts of a batch (ledger-actions.ts). Their first own key is the mark that this request is
 * done: a connection that is reopened repeats its commands.
 */

/**
 * Its contacts become a new chunk. ARGV: name of the failure, the state and code it must have ('' for any code), 1
 * where it may be while the list is imported or paused. Returns ['redriven', its contacts], ['known'] if there is no
 * such failure or it does not match, ['refused', phase or 'late' past the deadline], or ['gone'] if there is no such
 * batch.
 */
export const redriveFailure = ledgerScript(
  'redrive',
  `
local name, phase = ARGV[1], field('phase')
if not phase then return { 'gone' } end
local done = redis.call('GET', KEYS[12])
if done then return { 'redriven', done } end
local isHeld = ARGV[4] == '1' and (phase == 'importing' or phase == 'paused')
local mayBe = phase == 'finished' or phase == 'sending' or isHeld
if not mayBe then return { 'refused', phase } end
local now = clock()
if isTooLate(now) then return { 'refused', 'late' } end
local stored = redis.call('HGET', failures, name)
local bytes = redis.call('HGET', payload, name)
if not stored or not bytes then return { 'known' } end
local failure = readable(stored, 'size')
if not failure or failure.state ~= ARGV[2] or (ARGV[3] ~= '' and failure.code ~= ARGV[3]) then return { 'known' } end
local chunk, size = chunkCount(), failure.size
redis.call('HDEL', failures, name)
sumUp(failure, -size)
redis.call('HDEL', payload, name)
redis.call('HSET', payload, chunk, bytes)
redis.call('HSET', sizes, chunk, size, chunk .. '.root', rootOf(string.match(name, '^%d+')))
-- Resent on request: its outcome will be known again, but a message may arrive twice.
setState(chunk, PENDING)
add(failure.state, -size)
add('pending', size)
if failure.state == 'rejected' then event('contact.redriven', 'failure', name, 'contacts', size) end
if failure.state == 'unknown' then countTwice(size) end
addUnsent(size)
redis.call('HSET', record, 'chunks', chunk + 1, 'finishedAt', 0)
if phase == 'finished' then redis.call('HSET', record, 'phase', 'sending') end
add('derived', 1)
moved(now)
if phase ~= 'paused' then lookAtOnce(now) end
for index = 1, 7 do redis.call('PERSIST', KEYS[index]) end
keepInList('+inf')
redis.call('SET', KEYS[12], size, 'PX', ${DONE_MS})
return { 'redriven', size }`,
);

/**
 * ARGV: name of the failure, 'accepted' or 'cancelled', the state that it must have, and its rows. Deletes the
 * contacts. Returns ['resolved'], ['known'] if there is no such failure or it has another state, or ['gone'].
 */
export const resolveFailure = ledgerScript(
  'resolve',
  `
local name = ARGV[1]
if not field('phase') then return { 'gone' } end
if redis.call('GET', KEYS[12]) then return { 'resolved' } end
local failure = failureOf(name)
if not failure or failure.state ~= ARGV[3] then return { 'known' } end
redis.call('HDEL', failures, name)
sumUp(failure, -failure.size)
redis.call('HDEL', payload, name)
add(failure.state, -failure.size)
add(ARGV[2], failure.size)
noteEnd(name, ARGV[2], clock(), '', ARGV[4])
keepWithRecord(sizes)
redis.call('SET', KEYS[12], failure.size, 'PX', ${DONE_MS})
return { 'resolved' }`,
);

/**
 * Takes some contacts out of a failure; they become one of their own. The counts do not change. ARGV: name of the
 * failure, its number of contacts, how many are taken out, the payload of the rest, that of those that are taken out,
 * and the state that it must have. Returns ['split', name of the new failure], ['known'] if it has changed meanwhile,
 * or ['gone'].
 */
export const splitFailure = ledgerScript(
  'split',
  `
local name, size, taken = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
if not field('phase') then return { 'gone' } end
local done = redis.call('GET', KEYS[12])
if done then return { 'split', done } end
local failure = failureOf(name)
if not failure or failure.state ~= ARGV[6] or failure.size ~= size or taken < 1 or taken >= size then
  return { 'known' }
end
local chunk = string.match(name, '^%d+')
local part = chunk .. '.' .. redis.call('HINCRBY', sizes, chunk .. '.parts', 1)
failure.size = size - taken
redis.call('HSET', failures, name, cjson.encode(failure))
redis.call('HSET', payload, name, ARGV[4])
failure.size = taken
redis.call('HSET', failures, part, cjson.encode(failure))
redis.call('HSET', payload, part, ARGV[5])
keepWithRecord(sizes)
redis.call('SET', KEYS[12], part, 'PX', ${DONE_MS})
return { 'split', part }`,
);

/**
 * Takes contacts out of a chunk that waits and was not sent; from then on they count as cancelled. In a cancelled batch
 * all that waits does already, or counts as unknown if it was possibly sent. ARGV: chunk, its number of contacts, how
 * many are taken out, the payload of the rest ('' if nothing is left), their rows. Returns ['taken'], ['sending'] if an
 * attempt has the chunk, ['possibly-sent'] if it will be tried again after one, ['known'] if it has changed or does not
 * wait, or ['gone'].
 */
export const takeOutOfChunk = ledgerScript(
  'take out',
  `
local chunk, size, taken = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local phase = field('phase')
if not phase then return { 'gone' } end
-- Part of a chunk, which was a failure until now: it does not wait.
if chunk % 1 ~= 0 then return { 'known' } end
if redis.call('EXISTS', KEYS[12]) == 1 then return { 'taken' } end
local state = stateOf(chunk)
if state == SENDING or state == SENDING_POSSIBLY_SENT then return { 'sending' } end
local waits = state == PENDING or state == PENDING_POSSIBLY_SENT
if not waits or sizeOf(chunk) ~= size or taken < 1 or taken > size then return { 'known' } end
if phase ~= 'cancelled' then
  -- Not even cancelled may be said of what the service may have accepted.
  if state == PENDING_POSSIBLY_SENT then return { 'possibly-sent' } end
  add('pending', -taken)
  add('cancelled', taken)
  addUnsent(-taken)
elseif state == PENDING_POSSIBLY_SENT then
  add('unknown', -taken)
  add('cancelled', taken)
end
noteEnd(chunk, 'cancelled', clock(), '', ARGV[5])
leaveRest(chunk, size - taken, ARGV[4])
redis.call('SET', KEYS[12], taken, 'PX', ${DONE_MS})
return { 'taken' }`,
);
