import { defineScript } from '../../../redis/script.ts';
import { ledgerScript } from './ledger-prelude.ts';

/** Open batches: which is looked at next, which of its chunks need jobs, and whether it is stalled. */

/**
 * Finds chunks without a job, once those found before have theirs. ARGV: how many chunks to examine at most; how far
 * ahead, in milliseconds, a batch with a rate gets jobs, one turn after the other; of those found before the first
 * chunk, the end and the end of the turns, of which nothing is noted where others have been noted since. Returns ['none'], or ['chunks', first, end, now, end of the turns, number
 * of chunks of the list, then chunk and time of its job for each that needs one]; those from `first` to before `end`
 * were examined.
 */
export const chunksWithoutJob = ledgerScript(
  'chunks without job',
  `
local now, queued = clock(), tonumber(ARGV[4])
startIfDue(now)
local phase = field('phase')
if phase and queued and math.max(0, count('queued')) == tonumber(ARGV[3]) then
  redis.call('HSET', record, 'queued', queued)
  if count('rate') > 0 then
    redis.call('HSET', record, 'turnsTo', math.max(count('turnsTo'), tonumber(ARGV[5])))
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
local chunk, turn, limit = first, rated and freeTurn(now) or now, now + tonumber(ARGV[2])
local found = {}
while chunk < math.min(last, first + tonumber(ARGV[1])) do
  local state = stateOf(chunk)
  if state ~= SETTLED and state ~= NONE then
    if turn > limit then break end
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
 * Restarts a batch in which nothing has changed for ARGV[1] milliseconds although contacts are pending and its rate
 * allows sending: all chunks get jobs again. In a cancelled batch, attempts that never ended become unknown. With
 * ARGV[2] 'look' an open batch is not restarted. Returns ['stalled'], ['closed'] (cancelled) or ['moving'].
 */
export const restartStalled = ledgerScript(
  'restart',
  `
local phase, now = field('phase'), clock()
if not phase then return { 'moving' } end
-- It moved before the clock went back.
if count('movedAt') > now then moved(now) end
local nextAt = count('rate') > 0 and nextTurn(now) or 0
if now - math.max(count('movedAt'), nextAt) < tonumber(ARGV[1]) then return { 'moving' } end
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
if ARGV[2] == 'look' then return { 'stalled' } end
redis.call('HSET', record, 'queued', 0, 'turnsTo', 0, 'movedAt', now, 'restartedAt', now)
event('batch.stalled', 'pending', waiting)
return { 'stalled' }`,
);

/**
 * Takes an open batch that is due for a look, for at most ARGV[1] milliseconds: a worker that dies meanwhile only
 * delays the next look. Returns [id, end of the lease], or [] if none is due.
 */
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

/**
 * Ends a worker's look at a batch. ARGV: the end of its lease, milliseconds until the next look, and the id. One that
 * was put in the set anew meanwhile keeps that time; one that needs no jobs any more is taken out.
 */
export const putBackBatch = ledgerScript(
  'put back',
  `
local phase = field('phase')
if phase == 'paused' and count('startAt') > 0 then
  lookAtStart()
  return { 'put back' }
end
if not phase or not (isOpen(phase) or (phase == 'cancelled' and field('finishedAt') == '0')) then
  redis.call('ZREM', open, ARGV[3])
  return { 'out' }
end
if tonumber(redis.call('ZSCORE', open, ARGV[3])) == tonumber(ARGV[1]) then
  redis.call('ZADD', open, clock() + tonumber(ARGV[2]), ARGV[3])
end
return { 'put back' }`,
);
