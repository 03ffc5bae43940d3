import { ledgerScript } from './ledger-prelude.ts';

/** The operations on a batch as a whole, its import included. */

/** Batches of a list that are remembered, the ones that are kept longest. */
const MOST_OF_LIST = 1_000;

/**
 * Creates a batch. ARGV: id, fingerprint of the list, retention, the ids of the batches of this list that the caller
 * knows, as JSON ('' for a batch that no repeated list must find), then the fields and values of the plan. The last
 * keys are those of the list and the search index. Returns ['started'], ['known'] if the batch exists, ['different'] if
 * it exists with another fingerprint, or ['changed'] if there is another batch of the list meanwhile.
 */
export const startBatch = ledgerScript(
  'start',
  `
local known = field('fingerprint')
if known then return { known == ARGV[2] and 'known' or 'different' } end
local now = clock()
local list = KEYS[12]
if ARGV[4] ~= '' then
  local seen = {}
  for _, id in ipairs(cjson.decode(ARGV[4])) do seen[id] = true end
  redis.call('ZREMRANGEBYSCORE', list, '-inf', now)
  for _, id in ipairs(redis.call('ZRANGE', list, 0, -1)) do
    if not seen[id] then return { 'changed' } end
  end
  redis.call('HSET', record, 'listKey', KEYS[12])
end
redis.call('HSET', record, 'id', ARGV[1], 'fingerprint', ARGV[2], 'retentionMs', ARGV[3],
  'phase', 'importing', 'begunAt', now, 'movedAt', now, 'importedAt', 0, 'finishedAt', 0,
  'nextAt', 0, 'derived', 0, unpack(ARGV, 5))
keepInList('+inf')
redis.call('ZREMRANGEBYRANK', list, 0, ${-MOST_OF_LIST - 1})
redis.call('ZADD', batches, now, ARGV[1])
-- Of an earlier batch with the id, which has expired.
redis.call('ZREM', unknowns, ARGV[1])
redis.call('DEL', KEYS[13])
lookAtOnce(now)
if count('startAt') ~= 0 then
  redis.call('HSET', record, 'phase', 'paused', 'resumeTo', 'importing')
  lookAtStart()
end
return { 'started' }`,
);

/**
 * Stores the next chunk. ARGV: its number among those of the list, size, rows of the list up to its end, payload,
 * fingerprints ('' without a search index), for how long these are kept, and the digests of the list up to its end and
 * up to its start. The last key is the search index. Returns ['stored'], ['known'] where it is stored already, so that
 * an import can be repeated, ['other'] where the chunks that are stored are of another list, or ['gone'] (the batch was
 * cancelled, its import has ended, or it does not exist).
 */
export const storeChunk = ledgerScript(
  'store',
  `
local size, phase = tonumber(ARGV[2]), field('phase')
if not phase or phase == 'cancelled' then return { 'gone' } end
local chunk = chunkCount()
local stored = chunk - count('derived')
local number, digest, ended = tonumber(ARGV[1]), field('digest') or '', field('importedAt') ~= '0'
-- Of chunks before the last one no digest is kept: that of the next one that this import stores decides.
if number == stored - 1 and not ended and digest ~= ARGV[7] then return { 'other' } end
if number < stored then return { 'known' } end
if number > stored or ended then return { 'gone' } end
if digest ~= ARGV[8] then return { 'other' } end
redis.call('HSET', payload, chunk, ARGV[4])
if size ~= count('chunkSize') then redis.call('HSET', sizes, chunk, size) end
setState(chunk, PENDING)
redis.call('HSET', record, 'chunks', chunk + 1, 'rows', ARGV[3], 'digest', ARGV[7])
add('total', size)
add('pending', size)
addUnsent(size)
if ARGV[5] ~= '' then
  redis.call('HSET', KEYS[12], chunk, ARGV[5])
  redis.call('PEXPIRE', KEYS[12], ARGV[6])
end
moved(clock())
return { 'stored' }`,
);

/**
 * Ends the import. ARGV: refused rows, duplicate rows, the number of chunks of the list ('' for not known), the digest
 * up to the end of the last, their contacts, the digest of the whole list, and which rows were refused and which are
 * duplicates. Returns ['imported'], ['gone'] if chunks are missing or the batch is cancelled, or ['other'] for those of
 * another list.
 */
export const endImport = ledgerScript(
  'end import',
  `
if not field('phase') then return { 'gone' } end
local isFirst = field('importedAt') == '0'
if ARGV[3] ~= '' then
  if field('phase') == 'cancelled' then return { 'gone' } end
  local missing = tonumber(ARGV[3]) - chunkCount() + count('derived')
  if missing > 0 then return { 'gone' } end
  local digest, expected = field('digest') or '', isFirst and ARGV[4] or ARGV[6]
  if missing < 0 or (digest ~= '' and digest ~= expected) or count('total') ~= tonumber(ARGV[5]) then
    return { 'other' }
  end
end
if isFirst then
  local now = clock()
  redis.call('HSET', record, 'importedAt', now, 'refusedRows', ARGV[1], 'duplicateRows', ARGV[2], 'digest', ARGV[6])
  noteEnd('refused', 'refused', now, '', ARGV[7])
  noteEnd('duplicate', 'duplicate', now, '', ARGV[8])
  if field('phase') == 'importing' then redis.call('HSET', record, 'phase', 'sending') end
  if field('resumeTo') == 'importing' then redis.call('HSET', record, 'resumeTo', 'sending') end
  finishIfDone(now)
end
return { 'imported' }`,
);

/** The job of a claim that was refused ends within this time, in milliseconds. */
const JOB_ENDS_MS = 10_000;

/**
 * Pauses, resumes or cancels, in constant time: it takes effect at the next claim. ARGV: pause, resume or cancel.
 * Returns ['done', phase], ['refused', phase] if that phase does not allow it, or ['gone'].
 */
export const controlBatchScript = ledgerScript(
  'control',
  `
local phase, verb, now = field('phase'), ARGV[1], clock()
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
elseif not (verb == 'pause' and phase == 'paused') and not (verb == 'cancel' and phase == 'cancelled')
  and not (verb == 'resume' and isOpen(phase)) then
  return { 'refused', phase }
end
return { 'done', field('phase') }`,
);

/**
 * ARGV: contacts per second, 0 for no limit. The next chunk may be sent at once, and turns are given anew. Returns
 * ['done', phase], ['refused', phase] where nothing waits any more, or ['gone'].
 */
export const changeRate = ledgerScript(
  'rate',
  `
local phase, now = field('phase'), clock()
if not phase then return { 'gone' } end
if phase == 'cancelled' or phase == 'finished' then return { 'refused', phase } end
redis.call('HSET', record, 'rate', ARGV[1], 'rateSetAt', now, 'nextAt', now, 'turnsTo', 0)
if isOpen(phase) then lookAtOnce(now) end
return { 'done', phase }`,
);
