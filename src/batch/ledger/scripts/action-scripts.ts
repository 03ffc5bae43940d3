import { DONE_MS } from '../../../redis/keys.ts';
import { ledgerScript } from './ledger-prelude.ts';

/**
 * What people do with contacts of a batch. The own key of these scripts is the mark that the request is done: a
 * connection that is reopened repeats its commands.
 */

export const redriveFailure = ledgerScript<'redriven' | 'known' | 'refused' | 'gone'>(
  'redrive',
  `
local name, state, code, duringImport = unpack(ARGV)
local phase = field('phase')
if not phase then return { 'gone' } end
local done = redis.call('GET', KEYS[12])
if done then return { 'redriven', done } end
local isHeld = duringImport == '1' and (phase == 'importing' or phase == 'paused')
local mayBe = phase == 'finished' or phase == 'sending' or isHeld
if not mayBe then return { 'refused', phase } end
local now = clock()
if isTooLate(now) then return { 'refused', 'late' } end
local stored = redis.call('HGET', failures, name)
local bytes = redis.call('HGET', payload, name)
if not stored or not bytes then return { 'known' } end
local failure = readable(stored, 'size')
if not failure or failure.state ~= state or (code ~= '' and failure.code ~= code) then return { 'known' } end
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

export const resolveFailure = ledgerScript<'resolved' | 'known' | 'gone'>(
  'resolve',
  `
local name, as, state, rows = unpack(ARGV)
if not field('phase') then return { 'gone' } end
if redis.call('GET', KEYS[12]) then return { 'resolved' } end
local failure = failureOf(name)
if not failure or failure.state ~= state then return { 'known' } end
redis.call('HDEL', failures, name)
sumUp(failure, -failure.size)
redis.call('HDEL', payload, name)
add(failure.state, -failure.size)
add(as, failure.size)
noteEnd(name, as, clock(), '', rows)
keepWithRecord(sizes)
redis.call('SET', KEYS[12], failure.size, 'PX', ${DONE_MS})
return { 'resolved' }`,
);

export const splitFailure = ledgerScript<'split' | 'known' | 'gone'>(
  'split',
  `
local name, state, size, taken = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local takenOut, rest = ARGV[5], ARGV[6]
if not field('phase') then return { 'gone' } end
local done = redis.call('GET', KEYS[12])
if done then return { 'split', done } end
local failure = failureOf(name)
if not failure or failure.state ~= state or failure.size ~= size or taken < 1 or taken >= size then
  return { 'known' }
end
local chunk = string.match(name, '^%d+')
local part = chunk .. '.' .. redis.call('HINCRBY', sizes, chunk .. '.parts', 1)
failure.size = size - taken
redis.call('HSET', failures, name, cjson.encode(failure))
redis.call('HSET', payload, name, rest)
failure.size = taken
redis.call('HSET', failures, part, cjson.encode(failure))
redis.call('HSET', payload, part, takenOut)
keepWithRecord(sizes)
redis.call('SET', KEYS[12], part, 'PX', ${DONE_MS})
return { 'split', part }`,
);

/** In a cancelled batch all that waits counts as cancelled already, or as unknown if it was possibly sent. */
export const takeOutOfChunk = ledgerScript<
  'taken' | 'sending' | 'possibly-sent' | 'known' | 'gone'
>(
  'take out',
  `
local chunk, size, taken = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local rest, rows = ARGV[4], ARGV[5]
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
noteEnd(chunk, 'cancelled', clock(), '', rows)
leaveRest(chunk, size - taken, rest)
redis.call('SET', KEYS[12], taken, 'PX', ${DONE_MS})
return { 'taken' }`,
);
