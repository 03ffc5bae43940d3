import { defineScript } from '../../../redis/script.ts';
import { ledgerScript } from './ledger-prelude.ts';

/*
 * The operations on a batch as a whole, its import included, each one Lua script; chunk-scripts.ts and settle-scripts.ts
 * have those on one chunk.
 */

/**
 * Creates a batch. ARGV: id, fingerprint of the list, retention, name of the list ('' for a batch that
 * no repeated list must find), the batch that has this name so far ('' for none), then the fields and values
 * of the plan. The last keys hold the last batch with the name, and the search index of the batch.
 * Returns ['started'], ['known'] if the batch exists, ['different'] if it exists with another fingerprint,
 * or ['changed'] if another batch has got the name meanwhile.
 */
export const startBatch = ledgerScript(
  'start',
  `
local known = field('fingerprint')
if known then return { known == ARGV[2] and 'known' or 'different' } end
if ARGV[4] ~= '' then
  if (redis.call('GET', KEYS[12]) or '') ~= ARGV[5] then return { 'changed' } end
  redis.call('SET', KEYS[12], ARGV[1])
  redis.call('HSET', record, 'listKey', KEYS[12])
end
local now = clock()
redis.call('HSET', record, 'id', ARGV[1], 'fingerprint', ARGV[2], 'retentionMs', ARGV[3],
  'phase', 'importing', 'begunAt', now, 'movedAt', now, 'importedAt', 0, 'finishedAt', 0,
  'nextAt', 0, 'derived', 0, 'redriven', 0, unpack(ARGV, 6))
redis.call('ZADD', batches, now, ARGV[1])
-- Of an earlier batch with the id, which has expired.
sumUpUnknown(ARGV[1])
redis.call('DEL', KEYS[13])
lookAtOnce(now)
return { 'started' }`,
  { extraKeys: 2 },
);

/**
 * Stores the next chunk. ARGV: its number among the chunks of the list, size, rows of the list up to its
 * end, payload, fingerprints ('' without a search index), for how long these are kept, and the digests of the
 * list up to its end and up to its start ('' for not known). The last key is the search index.
 * A chunk that is stored already does not change, so an import can be repeated.
 * Returns ['stored'], ['known'], ['gone'] (the batch was cancelled, its import has ended, or it does
 * not exist) or ['other'] (the last chunk is of another list, which is imported at the same time).
 */
export const storeChunk = ledgerScript(
  'store',
  `
local size, phase = tonumber(ARGV[2]), field('phase')
if not phase or phase == 'cancelled' then return { 'gone' } end
local chunk = count('chunks')
local stored = chunk - count('derived')
local digest = field('digest') or ''
local function differs(other) return digest ~= '' and other ~= '' and other ~= digest end
if tonumber(ARGV[1]) == stored - 1 and differs(ARGV[7]) then return { 'other' } end
if tonumber(ARGV[1]) < stored then return { 'known' } end
if tonumber(ARGV[1]) == stored and differs(ARGV[8]) then return { 'other' } end
if tonumber(ARGV[1]) > stored or field('importedAt') ~= '0' then return { 'gone' } end
redis.call('HSET', payload, chunk, ARGV[4])
if size ~= count('chunkSize') then redis.call('HSET', sizes, chunk, size) end
setState(chunk, PENDING)
redis.call('HSET', record, 'chunks', chunk + 1, 'rows', ARGV[3], 'digest', ARGV[7])
add('total', size)
add('pending', size)
redis.call('INCRBY', unsent, size)
if ARGV[5] ~= '' then
  redis.call('HSET', KEYS[12], chunk, ARGV[5])
  redis.call('PEXPIRE', KEYS[12], ARGV[6])
end
moved(clock())
return { 'stored' }`,
  { extraKeys: 1 },
);

/**
 * Ends the import. ARGV: refused rows, duplicate rows, digest of the list ('' for none), and the number of chunks
 * of the list ('' for not known) with the digest up to the end of the last. The last key holds the last batch with
 * this list. Returns ['imported'], ['gone'] if chunks are missing, or ['other'] if there are those of another list.
 */
export const endImport = ledgerScript(
  'end import',
  `
if not field('phase') then return { 'gone' } end
if ARGV[4] ~= '' then
  local missing, digest = tonumber(ARGV[4]) - count('chunks') + count('derived'), field('digest') or ''
  if missing > 0 then return { 'gone' } end
  if missing < 0 or (digest ~= '' and digest ~= ARGV[5]) then return { 'other' } end
end
if field('importedAt') == '0' then
  local now = clock()
  redis.call('HSET', record, 'importedAt', now, 'refusedRows', ARGV[1], 'duplicateRows', ARGV[2])
  if field('phase') == 'importing' then redis.call('HSET', record, 'phase', 'sending') end
  if field('resumeTo') == 'importing' then redis.call('HSET', record, 'resumeTo', 'sending') end
  if ARGV[3] ~= '' then
    redis.call('SET', KEYS[12], field('id'))
    redis.call('HSET', record, 'content', ARGV[3], 'contentKey', KEYS[12])
  end
  finishIfDone(now)
end
return { 'imported' }`,
  { extraKeys: 1 },
);

/** The job of a claim that was refused ends within this time, in milliseconds. */
const JOB_ENDS_MS = 10_000;

/**
 * Pauses, resumes or cancels, in constant time. ARGV: pause, resume or cancel. It takes effect at the
 * next claim, and before the next part of a chunk that is bisected; requests under way finish. Returns ['done', phase], ['refused', phase] if that phase
 * does not allow it, or ['gone'].
 */
export const controlBatchScript = ledgerScript(
  'control',
  `
local phase, verb, now = field('phase'), ARGV[1], clock()
if not phase then return { 'gone' } end
if verb == 'pause' and isOpen(phase) then
  redis.call('HSET', record, 'phase', 'paused', 'resumeTo', phase)
  takeOut()
elseif verb == 'resume' and phase == 'paused' then
  -- Claims of a paused batch end their jobs: all pending chunks need new ones.
  redis.call('HSET', record, 'phase', field('resumeTo'), 'queued', 0, 'turnsTo', 0, 'movedAt', now)
  if now - count('heldBackAt') < ${JOB_ENDS_MS} then
    redis.call('HSET', record, 'againAt', now + ${JOB_ENDS_MS})
  end
  lookAtOnce(now)
  finishIfDone(now)
elseif verb == 'cancel' and (isOpen(phase) or phase == 'paused') then
  local pending, possiblySent = count('pending'), count('maybePending')
  redis.call('HSET', record, 'phase', 'cancelled', 'pending', 0, 'maybePending', 0)
  if field('importedAt') == '0' then redis.call('HSET', record, 'importedAt', now) end
  add('unknown', possiblySent)
  add('cancelled', pending - possiblySent)
  redis.call('DECRBY', unsent, pending)
  moved(now)
  lookAtOnce(now)
  finishIfDone(now)
elseif not (verb == 'pause' and phase == 'paused') and not (verb == 'cancel' and phase == 'cancelled')
  and not (verb == 'resume' and isOpen(phase)) then
  return { 'refused', phase }
end
return { 'done', field('phase') }`,
);

/**
 * Finds chunks without a job. ARGV: how many chunks to examine at most; how far ahead, in milliseconds,
 * a batch with a rate gets jobs. Returns ['none'], or ['chunks', first, end, now, end of the turns,
 * then chunk and time of its job for each chunk that needs one]; all chunks from `first` up to, not
 * including, `end` were examined. Settled chunks need no job.
 *
 * The jobs of a batch with a rate get turns, one after the other; without a rate all are due now.
 */
export const chunksWithoutJob = ledgerScript(
  'chunks without job',
  `
local phase, now = field('phase'), clock()
if not phase or not isOpen(phase) then return { 'none' } end
-- While the job of a claim that the pause refused had not ended, a new one for its chunk was not added.
local againAt = count('againAt')
if againAt > 0 and now >= againAt then
  redis.call('HSET', record, 'queued', 0, 'turnsTo', 0, 'againAt', 0)
end
local first, last = count('queued'), count('chunks')
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
return { 'chunks', first, chunk, now, turn, unpack(found) }`,
);

/**
 * Records that chunks up to ARGV[2] have jobs, and turns up to ARGV[3], if ARGV[1] is still the first
 * without. Returns ['queued'].
 */
export const markQueued = ledgerScript(
  'queued',
  `
if field('phase') and count('queued') == tonumber(ARGV[1]) then
  redis.call('HSET', record, 'queued', ARGV[2])
  if count('rate') > 0 then
    redis.call('HSET', record, 'turnsTo', math.max(count('turnsTo'), tonumber(ARGV[3])))
  end
end
return { 'queued' }`,
);

/**
 * Restarts a batch in which nothing has changed for ARGV[1] milliseconds although contacts are
 * pending and its rate allows sending: its jobs were lost, unless it waits behind other batches or for its next
 * attempt, which the caller looks up. All chunks get jobs again; the claim ends those of settled chunks. In a cancelled
 * batch, attempts that never ended become unknown. With ARGV[2] 'look' an open batch is not restarted.
 * Returns ['stalled'], ['closed'] (cancelled) or ['moving'].
 */
export const restartStalled = ledgerScript(
  'restart',
  `
local phase, now = field('phase'), clock()
if not phase or now - math.max(count('movedAt'), count('nextAt')) < tonumber(ARGV[1]) then
  return { 'moving' }
end
local waiting = count('pending') + count('sending')
if waiting == 0 then return { 'moving' } end
if phase == 'cancelled' then
  for _, chunk in ipairs(redis.call('HKEYS', inflight)) do cancelUnderWay(chunk) end
  finishIfDone(now)
  return { 'closed' }
end
-- With a rate, the chunks after the window have no jobs yet.
if not isOpen(phase) or (count('rate') == 0 and count('queued') < count('chunks')) then
  return { 'moving' }
end
if ARGV[2] == 'look' then return { 'stalled' } end
redis.call('HSET', record, 'queued', 0, 'turnsTo', 0, 'movedAt', now, 'restartedAt', now)
event('batch.stalled', 'pending', waiting)
return { 'stalled' }`,
);

/**
 * Corrects the part of a batch in the sum of unknown contacts: an earlier version of the program changes batches
 * without it, and Redis deletes them without it. ARGV: the id. Returns ['summed up'].
 */
export const sumUpUnknown = ledgerScript(
  'sum up unknown',
  `
sumUpUnknown(ARGV[1])
return { 'summed up' }`,
);

/**
 * Takes an open batch that is due for a look, for at most ARGV[1] milliseconds: a worker that dies
 * meanwhile only delays the next look. KEYS: the set of open batches. Returns [id, end of the lease],
 * or [] if none is due.
 */
export const takeOpenBatch = defineScript({
  name: 'take open batch',
  keys: 1,
  lua: `
local now = clock()
local id = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 1)[1]
if not id then return {} end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[1]), id)
return { id, now + tonumber(ARGV[1]) }`,
  parse: (reply: unknown) => reply as [] | [id: string, leaseEnds: number],
});

/**
 * Ends a worker's look at a batch. ARGV: the end of its lease, milliseconds until the next look, and the id
 * of the batch. A batch that was put in the set anew meanwhile keeps that time; one
 * that needs no jobs any more is taken out. Returns ['put back'] or ['out'].
 */
export const putBackBatch = ledgerScript(
  'put back',
  `
local phase = field('phase')
if not phase or not (isOpen(phase) or (phase == 'cancelled' and field('finishedAt') == '0')) then
  redis.call('ZREM', open, ARGV[3])
  return { 'out' }
end
if tonumber(redis.call('ZSCORE', open, ARGV[3])) == tonumber(ARGV[1]) then
  redis.call('ZADD', open, clock() + tonumber(ARGV[2]), ARGV[3])
end
return { 'put back' }`,
);
