import { ledgerScript } from './ledger-prelude.ts';

/** The moves of a batch as a whole, each one script; those of its chunks are in chunk-scripts.ts. */

/**
 * Begins a batch, or goes on with the one that has this id. ARGV: id, fingerprint of the plan and
 * the source, retention, then field and value of the plan in turn.
 * Answers ['begun'], ['known'] or ['different'].
 */
export const beginBatch = ledgerScript(
  'begin',
  `
local known = field('fingerprint')
if known then return { known == ARGV[2] and 'known' or 'different' } end
local now = clock()
redis.call('HSET', record, 'id', ARGV[1], 'fingerprint', ARGV[2], 'retentionMs', ARGV[3],
  'phase', 'importing', 'begunAt', now, 'movedAt', now, 'importedAt', 0, 'finishedAt', 0,
  'nextAt', 0, unpack(ARGV, 4))
redis.call('ZADD', batches, now, ARGV[1])
return { 'begun' }`,
);

/**
 * The import has ended. ARGV: rows refused, rows that were duplicates. Answers ['imported'], or
 * ['gone'].
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
  finishIfDone(now)
end
return { 'imported' }`,
);

/**
 * Pauses, resumes or cancels, whatever the number of chunks. ARGV: pause, resume or cancel. What is
 * being sent is let finish; it takes effect at the next claim. Answers ['done', phase], or
 * ['refused', phase] where that phase does not allow it, or ['gone'].
 */
export const controlBatchScript = ledgerScript(
  'steer',
  `
local phase, verb, now = field('phase'), ARGV[1], clock()
if not phase then return { 'gone' } end
if verb == 'pause' and isOpen(phase) then
  redis.call('HSET', record, 'phase', 'paused', 'resumeTo', phase)
elseif verb == 'resume' and phase == 'paused' then
  -- Claims in between gave their jobs up: all that is pending gets a job anew.
  redis.call('HSET', record, 'phase', field('resumeTo'), 'queued', 0, 'movedAt', now)
  finishIfDone(now)
elseif verb == 'cancel' and (isOpen(phase) or phase == 'paused') then
  local pending, maybe = count('pending'), count('maybePending')
  redis.call('HSET', record, 'phase', 'cancelled', 'pending', 0, 'maybePending', 0)
  if field('importedAt') == '0' then redis.call('HSET', record, 'importedAt', now) end
  add('unknown', maybe)
  add('cancelled', pending - maybe)
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
 * Which chunks lack a job. ARGV: how many to look at. Answers ['chunks', first, end] of those that
 * were stored after the last that was given a job, or ['none'].
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

/** Chunks up to ARGV[2] have jobs now, given that the next without was ARGV[1]. Answers ['queued']. */
export const markQueued = ledgerScript(
  'queued',
  `
if field('phase') and count('queued') == tonumber(ARGV[1]) then
  redis.call('HSET', record, 'queued', ARGV[2])
end
return { 'queued' }`,
);

/**
 * A batch in which nothing has moved for ARGV[1] milliseconds, although contacts are pending and its
 * own rate allows it: its jobs were lost. All its chunks get a job anew; those that are settled know
 * it. In a batch that was cancelled the attempts that never came back are given up as unknown.
 * Answers ['stalled'], ['closed'] or ['moving'].
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
