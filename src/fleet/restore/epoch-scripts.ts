import { defineScript } from '../../redis/script.ts';
import type { EpochMemory } from './epoch.ts';
import { HOLD_PRELUDE, MANUAL_HOLD_MS } from '../hold/hold-scripts.ts';

/**
 * The changes of the epoch (see epoch.ts), one script each. Fields of its hash: id, bornAt, beats, at,
 * server, earlierBeats and earlierAt (of the server before), stopped, and of the last event:
 * event (its id), eventAt, why, copyAt, missingMs, verdict, missed.
 *
 * INFO inside a script is answered by the server that runs it. Where INFO is denied,
 * the server is ''.
 */
const PRELUDE = `
local info = redis.pcall('INFO', 'server')
if type(info) ~= 'string' then info = '' end
local server = string.match(info, 'run_id:(%x+)') or ''
local function field(epoch, name) return redis.call('HGET', epoch, name) or '' end
-- Also those from before the clock went back: a worker that lives is added by its next heartbeat.
local function dropGone(workers, now, keptMs)
  redis.call('ZREMRANGEBYSCORE', workers, '-inf', '(' .. (now - keptMs))
  redis.call('ZREMRANGEBYSCORE', workers, '(' .. now, '+inf')
end
local function beatsOf(epoch) return tonumber(field(epoch, 'beats')) or 0 end

-- Whether the epoch has what the caller remembers: the fast path for a Redis without changes. Of the servers before
-- it knows only the last one (docs/restore.md, Limits). epoch.ts decides all other cases.
local function has(epoch, id, event, beats, remembered)
  if field(epoch, 'id') ~= id or field(epoch, 'event') ~= event then return false end
  if remembered == '' or remembered == field(epoch, 'server') then
    return beatsOf(epoch) >= beats
  end
  return (tonumber(field(epoch, 'earlierBeats')) or beatsOf(epoch)) >= beats
end

local function advance(epoch, now)
  local last = field(epoch, 'server')
  if last ~= '' and last ~= server then
    redis.call('HSET', epoch, 'earlierBeats', beatsOf(epoch), 'earlierAt', field(epoch, 'at'))
  end
  redis.call('HSET', epoch, 'at', now, 'server', server, 'stopped', 0)
  local beats = redis.call('HINCRBY', epoch, 'beats', 1)
  return { 'beat', field(epoch, 'id'), field(epoch, 'bornAt'), field(epoch, 'event'), beats, now, server }
end
`;

/**
 * A heartbeat. KEYS: epoch, the worker's own key, the set of workers. ARGV: id, event, beats and server
 * that the worker remembers (id '' for nothing), worker id, its state as JSON, how long that is kept in
 * milliseconds, id for a new epoch.
 * Answers ['beat', id, bornAt, event, beats, at, server]; or ['check'], without writing, when Redis lacks
 * something that the worker remembers.
 */
export const beatEpoch = defineScript({
  name: 'heartbeat',
  keys: 3,
  parse: memoryFrom,
  lua: `${PRELUDE}
local epoch, now = KEYS[1], clock()
if field(epoch, 'id') == '' then
  if ARGV[1] ~= '' then return { 'check' } end
  alsoWhenFull()
  redis.call('HSET', epoch, 'id', ARGV[8], 'bornAt', now, 'event', '')
elseif not has(epoch, ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]) then
  return { 'check' }
end
alsoWhenFull()
redis.call('SET', KEYS[2], ARGV[6], 'PX', ARGV[7])
redis.call('ZADD', KEYS[3], now, ARGV[5])
dropGone(KEYS[3], now, ARGV[7])
return advance(epoch, now)`,
});

/** Reads the answer of a heartbeat: what to remember; undefined for ['check']. */
function memoryFrom(reply: unknown): EpochMemory | undefined {
  const [kind, id, bornAt, event, beats, at, server] = reply as [string, ...unknown[]];
  if (kind !== 'beat') return undefined;
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
 * Deregisters a worker; the last one marks a clean shutdown. KEYS and the first five of ARGV as above;
 * then how long a worker without heartbeats counts as alive, in milliseconds. Answers 1 when marked.
 */
export const endEpochBeats = defineScript({
  name: 'deregister worker',
  keys: 3,
  lua: `${PRELUDE}
redis.call('DEL', KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[5])
dropGone(KEYS[3], clock(), ARGV[6])
if redis.call('ZCARD', KEYS[3]) > 0 then return 0 end
if not has(KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]) then return 0 end
redis.call('HSET', KEYS[1], 'stopped', 1)
return 1`,
});

/** KEYS: epoch. Answers [fields and values in turn, now, server, its start time or 0]. */
export const fetchEpoch = defineScript({
  name: 'fetch epoch',
  keys: 1,
  lua: `${PRELUDE}
local now, up = clock(), string.match(info, 'uptime_in_seconds:(%d+)')
return { redis.call('HGETALL', KEYS[1]), now, server, up and now - up * 1000 or 0 }`,
});

/**
 * Records that Redis looks like an old copy. KEYS: those of a hold, then the epoch. ARGV: id and event
 * that were read (id '' for none), id for a new epoch, id of the event, why, time of the copy,
 * how much is missing in milliseconds, verdict ('held' places the hold, too), id of the missing epoch,
 * channel of hold hints, event that the caller remembers.
 * Answers as a heartbeat does; ['check'] when another process recorded an event meanwhile: read again.
 */
export const markRestored = defineScript({
  name: 'mark restored',
  keys: 4,
  parse: memoryFrom,
  lua: `${HOLD_PRELUDE}${PRELUDE}
local epoch = KEYS[4]
if field(epoch, 'id') ~= ARGV[1] or field(epoch, 'event') ~= ARGV[2] then return { 'check' } end
alsoWhenFull()
if ARGV[1] == '' then redis.call('HSET', epoch, 'id', ARGV[3], 'bornAt', now) end
-- A process that remembers an event which the copy lacks must see that this one came after it.
local function numberOf(event) return tonumber(string.match(event, '^%d+')) or 0 end
local number = math.max(numberOf(ARGV[2]), numberOf(ARGV[11])) + 1
redis.call('HSET', epoch, 'event', number .. '-' .. ARGV[4], 'eventAt', now, 'why', ARGV[5], 'copyAt', ARGV[6],
  'missingMs', ARGV[7], 'verdict', ARGV[8], 'missed', ARGV[9])
if ARGV[8] == 'held' then
  redis.call('DEL', hold)
  redis.call('HSET', hold, 'kind', 'restored', 'code', ARGV[5], 'since', now, 'nextProbeAt', 0,
    'failedProbes', 0)
  redis.call('PEXPIRE', hold, ${MANUAL_HOLD_MS})
  block(${MANUAL_HOLD_MS})
  redis.call('PUBLISH', ARGV[10], 'restored')
end
return advance(epoch, now)`,
});
