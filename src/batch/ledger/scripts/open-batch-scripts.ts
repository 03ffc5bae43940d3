import { defineScript } from '../../../redis/script.ts';
import { ledgerScript } from './ledger-prelude.ts';

/** Open batches: which is looked at next, which of its chunks need jobs, and whether it is stalled. */

/**
 * Of the chunks that were found before nothing is noted where others have been noted since. Returns ['chunks', first,
 * end, now, end of the turns, number of chunks of the list, then chunk and time of its job for each that needs one].
 */
export const chunksWithoutJob = ledgerScript<'chunks' | 'none'>(
  'chunks without job',
  `
local now, limit, aheadMs = clock(), tonumber(ARGV[1]), tonumber(ARGV[2])
local foundFirst, foundEnd, foundTurnsTo = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
startIfDue(now)
local phase = field('phase')
if phase and foundEnd and math.max(0, count('queued')) == foundFirst then
  redis.call('HSET', record, 'queued', foundEnd)
  if count('rate') > 0 then
    redis.call('HSET', record, 'turnsTo', math.max(count('turnsTo'), foundTurnsTo))
  end
end
if not phase or not isOpen(phase) then return { 'none' } end
-- While the job of a claim that the pause refused had not ended, a new one for its chunk was not added.
local againAt = count('againAt')
if againAt > 0 and now >= againAt then
  redis.call('HSET', record, 'queued', 0, 'turnsTo', 0, 'againAt', 0)
end
local first, last = math.max(0, count('queued')), chunkCount()
-- Past its deadline nothing is sent, so that no chunk needs a turn.
local rated = count('rate') > 0 and not isTooLate(now)
local chunk, turn, latest = first, rated and freeTurn(now) or now, now + aheadMs
local found = {}
while chunk < math.min(last, first + limit) do
  local state = stateOf(chunk)
  if state ~= SETTLED and state ~= NONE then
    if turn > latest then break end
    table.insert(found, chunk)
    table.insert(found, turn)
    if rated then turn = turn + turnOf(chunk) end
  end
  chunk = chunk + 1
end
if chunk == first then return { 'none' } end
return { 'chunks', first, chunk, now, turn, last - count('derived'), unpack(found) }`,
);

/**
 * Restarts a batch in which nothing has changed for so long although contacts are pending and its rate allows sending:
 * all chunks get jobs again. In a cancelled batch, attempts that never ended become unknown. To 'look' only tells
 * whether an open batch is stalled.
 */
export const restartStalled = ledgerScript<'stalled' | 'closed' | 'moving'>(
  'restart',
  `
local afterMs, verb, phase, now = tonumber(ARGV[1]), ARGV[2], field('phase'), clock()
if not phase then return { 'moving' } end
-- It moved before the clock went back.
if count('movedAt') > now then moved(now) end
local nextAt = count('rate') > 0 and nextTurn(now) or 0
if now - math.max(count('movedAt'), nextAt) < afterMs then return { 'moving' } end
local waiting = count('pending') + count('sending')
if waiting == 0 then return { 'moving' } end
if phase == 'cancelled' then
  for _, chunk in ipairs(redis.call('HKEYS', inflight)) do cancelUnderWay(chunk) end
  finishIfDone(now)
  return { 'closed' }
end
-- With a rate, the chunks after the window have no jobs yet.
if not isOpen(phase) or (count('rate') == 0 and count('queued') < chunkCount()) then
  return { 'moving' }
end
if verb == 'look' then return { 'stalled' } end
redis.call('HSET', record, 'queued', 0, 'turnsTo', 0, 'movedAt', now, 'restartedAt', now)
event('batch.stalled', 'pending', waiting)
return { 'stalled' }`,
);

export const takeOpenBatch = defineScript({
  name: 'take open batch',
  lua: `
local now = clock()
local id = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 1)[1]
if not id then return {} end
alsoWhenFull()
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[1]), id)
return { id, now + tonumber(ARGV[1]) }`,
  parse: (reply: unknown) => reply as [] | [id: string, leaseEnds: number],
});

/** One that was put in the set anew meanwhile keeps that time; one that needs no jobs any more is taken out. */
export const putBackBatch = ledgerScript<'put back' | 'out'>(
  'put back',
  `
local leaseEnds, afterMs, id = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local phase = field('phase')
if phase == 'paused' and count('startAt') > 0 then
  lookAtStart()
  return { 'put back' }
end
if not phase or not (isOpen(phase) or (phase == 'cancelled' and field('finishedAt') == '0')) then
  redis.call('ZREM', open, id)
  return { 'out' }
end
if tonumber(redis.call('ZSCORE', open, id)) == leaseEnds then
  redis.call('ZADD', open, clock() + afterMs, id)
end
return { 'put back' }`,
);
