import { DONE_MS, ledgerScript } from './ledger-prelude.ts';

/**
 * Takes contacts out of a chunk that waits, so that they are never sent; from then on they count as cancelled. In
 * a cancelled batch the counts do not change: they are final.
 *
 * ARGV: chunk, its number of contacts, how many are taken out, the payload of the rest ('' if nothing is left).
 * The last keys are the search index and the mark that this request is done: a connection that is reopened
 * repeats its commands. Returns ['taken'], ['sending'] if an attempt has the chunk, ['known'] if it has changed
 * meanwhile or does not wait, or ['gone'].
 */
export const takeOutOfChunk = ledgerScript(
  'take out',
  `
local chunk, size, taken = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local phase = field('phase')
if not phase then return { 'gone' } end
if redis.call('EXISTS', KEYS[13]) == 1 then return { 'taken' } end
local state = stateOf(chunk)
if state == SENDING or state == SENDING_POSSIBLY_SENT then return { 'sending' } end
local waits = state == PENDING or state == PENDING_POSSIBLY_SENT
if not waits or sizeOf(chunk) ~= size or taken < 1 or taken > size then return { 'known' } end
if phase ~= 'cancelled' then
  add('pending', -taken)
  if state == PENDING_POSSIBLY_SENT then add('maybePending', -taken) end
  add('cancelled', taken)
  redis.call('DECRBY', unsent, taken)
end
local part = chunk .. '.' .. redis.call('HINCRBY', sizes, chunk .. '.parts', 1)
if redis.call('EXISTS', KEYS[12]) == 1 then
  redis.call('HSET', KEYS[12], '>' .. part, 'cancelled ' .. taken)
end
if taken == size then
  setState(chunk, SETTLED)
  redis.call('HDEL', payload, chunk)
else
  redis.call('HSET', payload, chunk, ARGV[4])
  redis.call('HSET', sizes, chunk, size - taken)
end
keepWithRecord(sizes)
local now = clock()
moved(now)
finishIfDone(now)
redis.call('SET', KEYS[13], taken, 'PX', ${DONE_MS})
return { 'taken' }`,
  { extraKeys: 2 },
);
