import { defineScript, type Script } from '../../redis/script.ts';
import { stateNumber, type ChunkState } from './chunk-state.ts';

/**
 * What all scripts of the ledger begin with. KEYS of all, in this order: the batch's record, chunks,
 * payload, sizes, inflight, failures; then the account's unsent counter, its events and its set of
 * batches.
 *
 * `pending` and `sending` of the record exclude each other; `maybePending` is the part of `pending`
 * that may have been taken already. `sizes` holds, beside the contacts of chunks that are not of full
 * size, `<chunk>.parts` (failed parts named so far) and `<chunk>.late` (its deadline is lifted).
 */
const KEY_COUNT = 9;

const number = (state: ChunkState) => stateNumber(state);

const PRELUDE = `
local record, chunks, payload, sizes, inflight, failures = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local unsent, events, batches = KEYS[7], KEYS[8], KEYS[9]
local NONE, PENDING, MAYBE_PENDING = ${number('none')}, ${number('pending')}, ${number('maybe-pending')}
local SENDING, MAYBE_SENDING = ${number('sending')}, ${number('maybe-sending')}
local SETTLED = ${number('settled')}

local function field(name) return redis.call('HGET', record, name) end
local function count(name) return tonumber(field(name)) or 0 end
local function add(name, by) if by ~= 0 then redis.call('HINCRBY', record, name, by) end end
local function moved(now) redis.call('HSET', record, 'movedAt', now) end
local function stateOf(chunk)
  return redis.call('BITFIELD', chunks, 'GET', 'u4', '#' .. chunk)[1]
end
local function setState(chunk, state)
  redis.call('BITFIELD', chunks, 'SET', 'u4', '#' .. chunk, state)
end
local function sizeOf(chunk)
  return tonumber(redis.call('HGET', sizes, chunk)) or count('chunkSize')
end
local function event(name, ...)
  redis.call('XADD', events, 'MAXLEN', '~', 10000, '*', 'event', name, 'batch', field('id'), ...)
end
local function isOpen(phase) return phase == 'importing' or phase == 'sending' end

-- Nothing is pending and nothing more will come: the batch is over.
local function finishIfDone(now)
  local phase = field('phase')
  if count('pending') + count('sending') > 0 or field('importedAt') == '0' then return end
  if phase ~= 'sending' and phase ~= 'cancelled' then return end
  if field('finishedAt') ~= '0' then return end
  redis.call('HSET', record, 'finishedAt', now)
  if phase == 'sending' then redis.call('HSET', record, 'phase', 'finished') end
  for index = 1, 6 do redis.call('PEXPIRE', KEYS[index], count('retentionMs')) end
  event('batch.finished', 'phase', field('phase'), 'total', count('total'),
    'accepted', count('accepted'), 'rejected', count('rejected'), 'unknown', count('unknown'),
    'expired', count('expired'), 'cancelled', count('cancelled'), 'maybeTwice', count('maybeTwice'))
end

-- No attempt has the chunk any more, and so many of its contacts are not pending any more.
local function release(chunk, size)
  redis.call('HDEL', inflight, chunk)
  redis.call('DECRBY', unsent, size)
end

-- A chunk that comes back to a batch that was cancelled meanwhile: it stays as it is for good.
local function cancelChunk(chunk, size, maybe)
  setState(chunk, maybe and MAYBE_PENDING or PENDING)
  add(maybe and 'unknown' or 'cancelled', size)
end

-- The same for one whose attempt ended without a word.
local function cancelUnderWay(chunk)
  local size = sizeOf(chunk)
  add('sending', -size)
  release(chunk, size)
  cancelChunk(chunk, size, true)
end

-- Contacts that were not accepted, under the chunk's number or, for a part of it, number.part.
local function fail(name, now, state, size, code, message)
  add(state, size)
  redis.call('HSET', failures, name, cjson.encode({ at = now, state = state, size = size,
    code = code, message = message }))
end
`;

/**
 * Makes a script of the ledger. Scripts answer lists whose first element is a word.
 *
 * @param extraKeys keys that it takes beside those of all
 */
export function ledgerScript(
  name: string,
  lua: string,
  { extraKeys = 0, binary = false } = {},
): Script<unknown> {
  const keys = KEY_COUNT + extraKeys;
  return defineScript({ name: `ledger ${name}`, keys, binary, lua: `${PRELUDE}${lua}` });
}
