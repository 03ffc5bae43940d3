import { ledgerScript } from './ledger-prelude.ts';

/** The operations on a batch as a whole, its import included. */

/** Batches of a list that are remembered, the ones that are kept longest. */
const MOST_OF_LIST = 1_000;

/** Own keys: those of the list and of the search index. The fields and values of the plan follow the arguments. */
export const startBatch = ledgerScript<'started' | 'known' | 'different' | 'changed'>(
  'start',
  `
local id, fingerprint, retentionMs, found = unpack(ARGV, 1, 4)
local known = field('fingerprint')
if known then return { known == fingerprint and 'known' or 'different' } end
local now, list, find = clock(), KEYS[12], KEYS[13]
if found ~= '' then
  local seen = {}
  for _, one in ipairs(cjson.decode(found)) do seen[one] = true end
  redis.call('ZREMRANGEBYSCORE', list, '-inf', now)
  for _, one in ipairs(redis.call('ZRANGE', list, 0, -1)) do
    if not seen[one] then return { 'changed' } end
  end
  redis.call('HSET', record, 'listKey', list)
end
redis.call('HSET', record, 'id', id, 'fingerprint', fingerprint, 'retentionMs', retentionMs,
  'phase', 'importing', 'begunAt', now, 'movedAt', now, 'importedAt', 0, 'finishedAt', 0,
  'nextAt', 0, 'derived', 0, unpack(ARGV, 5))
keepInList('+inf')
redis.call('ZREMRANGEBYRANK', list, 0, ${-MOST_OF_LIST - 1})
redis.call('ZADD', batches, now, id)
-- Of an earlier batch with the id, which has expired.
redis.call('ZREM', unknowns, id)
redis.call('DEL', find)
lookAtOnce(now)
if count('startAt') ~= 0 then
  redis.call('HSET', record, 'phase', 'paused', 'resumeTo', 'importing')
  lookAtStart()
end
return { 'started' }`,
);

/** Own key: the search index. `number`: the chunk's among those of the list. */
export const storeChunk = ledgerScript<'stored' | 'known' | 'other' | 'gone'>(
  'store',
  `
local number, size, phase = tonumber(ARGV[1]), tonumber(ARGV[2]), field('phase')
local rows, bytes, prints, printsKeptMs, upToEnd, upToStart = unpack(ARGV, 3)
if not phase or phase == 'cancelled' then return { 'gone' } end
local chunk = chunkCount()
local stored = chunk - count('derived')
local digest, ended = field('digest') or '', field('importedAt') ~= '0'
-- Of chunks before the last one no digest is kept: that of the next one that this import stores decides.
if number == stored - 1 and not ended and digest ~= upToEnd then return { 'other' } end
if number < stored then return { 'known' } end
if number > stored or ended then return { 'gone' } end
if digest ~= upToStart then return { 'other' } end
redis.call('HSET', payload, chunk, bytes)
if size ~= count('chunkSize') then redis.call('HSET', sizes, chunk, size) end
setState(chunk, PENDING)
redis.call('HSET', record, 'chunks', chunk + 1, 'rows', rows, 'digest', upToEnd)
add('total', size)
add('pending', size)
addUnsent(size)
if prints ~= '' then
  redis.call('HSET', KEYS[12], chunk, prints)
  redis.call('PEXPIRE', KEYS[12], printsKeptMs)
end
moved(clock())
return { 'stored' }`,
);

/** `chunks`: '' for not known. `upToEnd`: digest up to the end of the last of them. */
export const endImport = ledgerScript<'imported' | 'gone' | 'other'>(
  'end import',
  `
local refused, duplicates, ofList, upToEnd, contacts, whole, refusedRows, duplicateRows = unpack(ARGV)
if not field('phase') then return { 'gone' } end
local isFirst = field('importedAt') == '0'
if ofList ~= '' then
  if field('phase') == 'cancelled' then return { 'gone' } end
  local missing = tonumber(ofList) - chunkCount() + count('derived')
  if missing > 0 then return { 'gone' } end
  local digest, expected = field('digest') or '', isFirst and upToEnd or whole
  if missing < 0 or (digest ~= '' and digest ~= expected) or count('total') ~= tonumber(contacts) then
    return { 'other' }
  end
end
if isFirst then
  local now = clock()
  redis.call('HSET', record, 'importedAt', now, 'refusedRows', refused, 'duplicateRows', duplicates, 'digest', whole)
  noteEnd('refused', 'refused', now, '', refusedRows)
  noteEnd('duplicate', 'duplicate', now, '', duplicateRows)
  if field('phase') == 'importing' then redis.call('HSET', record, 'phase', 'sending') end
  if field('resumeTo') == 'importing' then redis.call('HSET', record, 'resumeTo', 'sending') end
  finishIfDone(now)
end
return { 'imported' }`,
);

/** The job of a claim that was refused ends within this time, in milliseconds. */
const JOB_ENDS_MS = 10_000;

export const controlBatch = ledgerScript<'done' | 'refused' | 'gone'>(
  'control',
  `
local verb, rate = unpack(ARGV)
local phase, now = field('phase'), clock()
if not phase then return { 'gone' } end
if verb == 'pause' and phase == 'paused' and count('startAt') > 0 then
  redis.call('HSET', record, 'startAt', -1)
  takeOut()
elseif verb == 'pause' and isOpen(phase) then
  redis.call('HSET', record, 'phase', 'paused', 'resumeTo', phase)
  takeOut()
elseif verb == 'resume' and phase == 'paused' then
  -- Claims of a paused batch end their jobs: all pending chunks need new ones.
  resume(now)
  if now - count('heldBackAt') < ${JOB_ENDS_MS} then
    redis.call('HSET', record, 'againAt', now + ${JOB_ENDS_MS})
  end
  lookAtOnce(now)
  finishIfDone(now)
elseif verb == 'cancel' and (isOpen(phase) or phase == 'paused') then
  local pending, possiblySent = count('pending'), count('possiblySentPending')
  redis.call('HSET', record, 'phase', 'cancelled', 'pending', 0, 'possiblySentPending', 0)
  if field('importedAt') == '0' then redis.call('HSET', record, 'importedAt', now) end
  add('unknown', possiblySent)
  add('cancelled', pending - possiblySent)
  addUnsent(-pending)
  moved(now)
  lookAtOnce(now)
  finishIfDone(now)
elseif verb == 'rate' and (isOpen(phase) or phase == 'paused') then
  -- The next chunk may be sent at once, and turns are given anew.
  redis.call('HSET', record, 'rate', rate, 'rateSetAt', now, 'nextAt', now, 'turnsTo', 0)
  if isOpen(phase) then lookAtOnce(now) end
elseif not (verb == 'pause' and phase == 'paused') and not (verb == 'cancel' and phase == 'cancelled')
  and not (verb == 'resume' and isOpen(phase)) then
  return { 'refused', phase }
end
return { 'done', field('phase') }`,
);
