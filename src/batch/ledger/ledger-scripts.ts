import { ledgerScript } from './ledger-prelude.ts';

/* The operations on a batch as a whole, each one Lua script; chunk-scripts.ts has those on chunks. */

/**
 * Creates a batch. ARGV: id, fingerprint of the list, retention, name of the list ('' for a batch that
 * no repeated list must find), the batch that has this name so far ('' for none), then the fields and values
 * of the plan. The last key holds the last batch with the name.
 * Returns ['started'], ['known'] if the batch exists, ['different'] if it exists with another fingerprint,
 * or ['changed'] if another batch has got the name meanwhile.
 */
export const startBatch = ledgerScript(
  'start',
  `
local known = field('fingerprint')
if known then return { known == ARGV[2] and 'known' or 'different' } end
if ARGV[4] ~= '' then
  if (redis.call('GET', KEYS[10]) or '') ~= ARGV[5] then return { 'changed' } end
  redis.call('SET', KEYS[10], ARGV[1])
  redis.call('HSET', record, 'listKey', KEYS[10])
end
local now = clock()
redis.call('HSET', record, 'id', ARGV[1], 'fingerprint', ARGV[2], 'retentionMs', ARGV[3],
  'phase', 'importing', 'begunAt', now, 'movedAt', now, 'importedAt', 0, 'finishedAt', 0,
  'nextAt', 0, unpack(ARGV, 6))
redis.call('ZADD', batches, now, ARGV[1])
return { 'started' }`,
  { extraKeys: 1 },
);

/**
 * Ends the import. ARGV: refused rows, duplicate rows, digest of the list ('' for none). The last key holds
 * the last batch with this list. Returns ['imported'] or ['gone'].
 */
export const endImport = ledgerScript(
  'end import',
  `
if not field('phase') then return { 'gone' } end
if field('importedAt') == '0' then
  local now = clock()
  redis.call('HSET', record, 'importedAt', now, 'refusedRows', ARGV[1], 'duplicateRows', ARGV[2])
  if field('phase') == 'importing' then redis.call('HSET', record, 'phase', 'sending') end
  if field('resumeTo') == 'importing' then redis.call('HSET', record, 'resumeTo', 'sending') end
  if ARGV[3] ~= '' then
    redis.call('SET', KEYS[10], field('id'))
    redis.call('HSET', record, 'content', ARGV[3], 'contentKey', KEYS[10])
  end
  finishIfDone(now)
end
return { 'imported' }`,
  { extraKeys: 1 },
);

/**
 * Pauses, resumes or cancels, in constant time. ARGV: pause, resume or cancel. It takes effect at the
 * next claim; requests under way finish. Returns ['done', phase], ['refused', phase] if that phase
 * does not allow it, or ['gone'].
 */
export const controlBatchScript = ledgerScript(
  'control',
  `
local phase, verb, now = field('phase'), ARGV[1], clock()
if not phase then return { 'gone' } end
if verb == 'pause' and isOpen(phase) then
  redis.call('HSET', record, 'phase', 'paused', 'resumeTo', phase)
elseif verb == 'resume' and phase == 'paused' then
  -- Claims of a paused batch end their jobs: all pending chunks need new ones.
  redis.call('HSET', record, 'phase', field('resumeTo'), 'queued', 0, 'movedAt', now)
  finishIfDone(now)
elseif verb == 'cancel' and (isOpen(phase) or phase == 'paused') then
  local pending, possiblySent = count('pending'), count('maybePending')
  redis.call('HSET', record, 'phase', 'cancelled', 'pending', 0, 'maybePending', 0)
  if field('importedAt') == '0' then redis.call('HSET', record, 'importedAt', now) end
  add('unknown', possiblySent)
  add('cancelled', pending - possiblySent)
  redis.call('DECRBY', unsent, pending)
  moved(now)
  finishIfDone(now)
elseif not (verb == 'pause' and phase == 'paused') and not (verb == 'cancel' and phase == 'cancelled')
  and not (verb == 'resume' and isOpen(phase)) then
  return { 'refused', phase }
end
return { 'done', field('phase') }`,
);

/**
 * Finds chunks without a job. ARGV: at most how many. Returns ['chunks', first, end] of those stored
 * after the last one with a job, or ['none'].
 */
export const unqueuedChunks = ledgerScript(
  'unqueued',
  `
local phase = field('phase')
if not phase or not isOpen(phase) then return { 'none' } end
local first, last = count('queued'), count('chunks')
if first >= last then return { 'none' } end
return { 'chunks', first, math.min(last, first + tonumber(ARGV[1])) }`,
);

/**
 * Records that chunks up to ARGV[2] have jobs, if ARGV[1] is still the first without. Returns
 * ['queued'].
 */
export const markQueued = ledgerScript(
  'queued',
  `
if field('phase') and count('queued') == tonumber(ARGV[1]) then
  redis.call('HSET', record, 'queued', ARGV[2])
end
return { 'queued' }`,
);

/**
 * Restarts a batch in which nothing has changed for ARGV[1] milliseconds although contacts are
 * pending and its rate allows sending: its jobs were lost. All chunks get jobs again; the claim ends
 * those of settled chunks. In a cancelled batch, attempts that never ended become unknown.
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
if not isOpen(phase) or count('queued') < count('chunks') then return { 'moving' } end
redis.call('HSET', record, 'queued', 0, 'movedAt', now)
event('batch.stalled', 'pending', waiting)
return { 'stalled' }`,
);
