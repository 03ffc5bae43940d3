import { defineScript } from '../../redis/script.ts';
import { EARLIER_KEPT, type EpochMemory } from './epoch.ts';
import { MANUAL_HOLD_MS, HOLD_PRELUDE } from '../hold/hold-scripts.ts';

/**
 * The moves of the epoch (see epoch.ts), each one script. Its fields: id, bornAt, beats, at, server,
 * earlier (`server:beats:at` with blanks between, the last first), stopped, and of the last event
 * event (its id), eventAt, why, copyAt, missingMs, verdict, missed, past (ids, the last first).
 *
 * INFO inside a script is answered by the very server that runs it, on a Cluster, too. Where it is
 * denied the server stays nameless.
 */
const PRELUDE = `
local info = redis.pcall('INFO', 'server')
if type(info) ~= 'string' then info = '' end
local server = string.match(info, 'run_id:(%x+)') or ''
local function field(epoch, name) return redis.call('HGET', epoch, name) or '' end
local function beatsOf(epoch) return tonumber(field(epoch, 'beats')) or 0 end

-- Whether it has all that is remembered. This is the quick answer for a Redis that goes on as ever;
-- whatever else there is, epoch.ts judges.
local function has(epoch, id, event, beats, remembered)
  if field(epoch, 'id') ~= id or field(epoch, 'event') ~= event then return false end
  if remembered == '' or remembered == field(epoch, 'server') then
    return beatsOf(epoch) >= beats
  end
  local lives = 0
  for life, last in string.gmatch(field(epoch, 'earlier'), '(%x+):(%d+):%d+') do
    if life == remembered then return tonumber(last) >= beats end
    lives = lives + 1
  end
  return lives >= ${EARLIER_KEPT} and beatsOf(epoch) >= beats
end

-- Puts a word before those of a list.
local function remember(epoch, list, word)
  local words = { word }
  for old in string.gmatch(field(epoch, list), '%S+') do
    if #words < ${EARLIER_KEPT} then table.insert(words, old) end
  end
  redis.call('HSET', epoch, list, table.concat(words, ' '))
end

local function advance(epoch, now)
  local last = field(epoch, 'server')
  if last ~= '' and last ~= server then
    remember(epoch, 'earlier', last .. ':' .. beatsOf(epoch) .. ':' .. field(epoch, 'at'))
  end
  redis.call('HSET', epoch, 'at', now, 'server', server, 'stopped', 0)
  local beats = redis.call('HINCRBY', epoch, 'beats', 1)
  return { 'beat', field(epoch, 'id'), field(epoch, 'bornAt'), field(epoch, 'event'), beats, now, server }
end
`;

/**
 * A heartbeat. KEYS: epoch, the worker's own key, the workers. ARGV: id, event, beats and server that
 * are remembered (id '' for nothing), worker id, what it says, how long that is kept, an id for an
 * epoch that begins.
 * Answers ['beat', id, bornAt, event, beats, at, server], or ['check'] and writes nothing where
 * something is not as remembered.
 */
export const beatEpoch = defineScript({
  name: 'heartbeat',
  keys: 3,
  parse: memoryFrom,
  lua: `${PRELUDE}
local epoch, now = KEYS[1], clock()
if field(epoch, 'id') == '' then
  if ARGV[1] ~= '' then return { 'check' } end
  redis.call('HSET', epoch, 'id', ARGV[8], 'bornAt', now, 'event', '')
elseif not has(epoch, ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]) then
  return { 'check' }
end
redis.call('SET', KEYS[2], ARGV[6], 'PX', ARGV[7])
redis.call('ZADD', KEYS[3], now, ARGV[5])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', '(' .. (now - ARGV[7]))
return advance(epoch, now)`,
});

/** Reads the answer of a heartbeat: what is to be remembered; undefined for ['check']. */
function memoryFrom(reply: unknown): EpochMemory | undefined {
  const [word, id, bornAt, event, beats, at, server] = reply as [string, ...unknown[]];
  if (word !== 'beat') return undefined;
  return {
    id: String(id),
    bornAt: Number(bornAt),
    event: String(event),
    beats: Number(beats),
    at: Number(at),
    server: String(server),
    by: 'process',
  };
}

/**
 * A goodbye. KEYS and the first five of ARGV as above; then how long a silent worker counts as
 * alive. The last worker that goes says that all have stopped in order. Answers 1 where it did.
 */
export const endEpochBeats = defineScript({
  name: 'goodbye',
  keys: 3,
  lua: `${PRELUDE}
redis.call('DEL', KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[5])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', '(' .. (clock() - ARGV[6]))
if redis.call('ZCARD', KEYS[3]) > 0 then return 0 end
if not has(KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]) then return 0 end
redis.call('HSET', KEYS[1], 'stopped', 1)
return 1`,
});

/** KEYS: epoch. Answers [fields and values in turn, now, server, since when it runs or 0]. */
export const lookAtEpoch = defineScript({
  name: 'look at the epoch',
  keys: 1,
  lua: `${PRELUDE}
local now, up = clock(), string.match(info, 'uptime_in_seconds:(%d+)')
return { redis.call('HGETALL', KEYS[1]), now, server, up and now - up * 1000 or 0 }`,
});

/**
 * Redis looks like an old copy. KEYS: those of a hold, then the epoch. ARGV: id and event as they were
 * looked at (id '' for none), an id for an epoch that begins, id of the event, why, time of the copy,
 * how much is missing, verdict ('held' places the hold, too), id of the epoch that is missed, channel
 * of hints of holds, event that is remembered.
 * Answers as a heartbeat does; ['check'] where somebody else has judged it meanwhile: look again.
 */
export const markRestored = defineScript({
  name: 'mark restored',
  keys: 5,
  parse: memoryFrom,
  lua: `${HOLD_PRELUDE}${PRELUDE}
local epoch = KEYS[5]
if field(epoch, 'id') ~= ARGV[1] or field(epoch, 'event') ~= ARGV[2] then return { 'check' } end
if ARGV[1] == '' then redis.call('HSET', epoch, 'id', ARGV[3], 'bornAt', now) end
-- Who remembers an event that the copy does not know, too, finds this one to have come after it.
if ARGV[2] ~= '' then remember(epoch, 'past', ARGV[2]) end
if ARGV[11] ~= '' and ARGV[11] ~= ARGV[2] then remember(epoch, 'past', ARGV[11]) end
redis.call('HSET', epoch, 'event', ARGV[4], 'eventAt', now, 'why', ARGV[5], 'copyAt', ARGV[6],
  'missingMs', ARGV[7], 'verdict', ARGV[8], 'missed', ARGV[9])
if ARGV[8] == 'held' then
  redis.call('DEL', hold, probe)
  redis.call('HSET', hold, 'kind', 'restored', 'code', ARGV[5], 'since', now, 'nextProbeAt', 0,
    'failedProbes', 0)
  redis.call('PEXPIRE', hold, ${MANUAL_HOLD_MS})
  stand(${MANUAL_HOLD_MS})
  redis.call('PUBLISH', ARGV[10], 'restored')
end
return advance(epoch, now)`,
});
