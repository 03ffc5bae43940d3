import { randomUUID } from 'node:crypto';
import { hintChannel } from '../../redis/hints.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { translated } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';
import { defineScript } from '../../redis/script.ts';
import { recordOf } from '../../redis/stored-json.ts';
import { HOLD_PRELUDE, holdKeys } from '../hold/hold-scripts.ts';
import type { Epoch, EpochReading, RestoreEvent, Suspicion, Term } from './epoch.ts';

/**
 * The changes of the epoch (see epoch.ts), one script each. Fields of its hash: id, bornAt, beats, at, server, stopped; of
 * the term before: before (its id), beforeBornAt, beforeBeats, beforeAt; and of the last event: eventAt, why, copyAt,
 * missingMs, verdict.
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
  local all = redis.call('HGETALL', workers)
  for index = 1, #all, 2 do
    local at = tonumber(string.match(all[index + 1], '^%d+') or 0)
    if at < now - keptMs or at > now then redis.call('HDEL', workers, all[index]) end
  end
end

-- Whether Redis has what the caller remembers: epoch.ts decides all other cases.
local function has(epoch, id, beats)
  if id == '' then return false end
  if field(epoch, 'id') == id then return (tonumber(field(epoch, 'beats')) or 0) >= beats end
  return field(epoch, 'before') == id and (tonumber(field(epoch, 'beforeBeats')) or 0) >= beats
end

local function advance(epoch, now, newId)
  local id, bornAt, beats, at, last =
    unpack(redis.call('HMGET', epoch, 'id', 'bornAt', 'beats', 'at', 'server'))
  if last and last ~= '' and last ~= server then
    redis.call('HSET', epoch, 'before', id, 'beforeBornAt', bornAt, 'beforeBeats', beats, 'beforeAt', at)
    id = nil
  end
  if not id then
    id, bornAt = newId, now
    redis.call('HSET', epoch, 'id', id, 'bornAt', now)
  end
  redis.call('HSET', epoch, 'at', now, 'server', server, 'stopped', 0)
  return { id, bornAt, redis.call('HINCRBY', epoch, 'beats', 1), now }
end
`;

/** Reads the answer of a heartbeat: what to remember; undefined for [], where nothing was written. */
function termFrom(reply: unknown): Term | undefined {
  const [id, bornAt, beats, at] = reply as [string?, ...(string | number)[]];
  if (id === undefined) return undefined;
  return { id, bornAt: Number(bornAt), beats: Number(beats), at: Number(at) };
}

/**
 * A heartbeat. KEYS: epoch, the workers. ARGV: id and beats of the term that the worker
 * remembers (id '' for nothing), worker id, its state as JSON, how long that is kept in milliseconds, id for a new term.
 * Answers the term; or [], without writing, when Redis lacks something that the worker remembers.
 */
export const beatEpoch = defineScript({
  name: 'heartbeat',
  parse: termFrom,
  lua: `${PRELUDE}
local epoch, now = KEYS[1], clock()
if (ARGV[1] ~= '' or field(epoch, 'id') ~= '') and not has(epoch, ARGV[1], tonumber(ARGV[2])) then return {} end
alsoWhenFull()
redis.call('HSET', KEYS[2], ARGV[3], string.format('%.0f %s', now, ARGV[4]))
redis.call('PEXPIRE', KEYS[2], ARGV[5])
dropGone(KEYS[2], now, tonumber(ARGV[5]))
return advance(epoch, now, ARGV[6])`,
});

/**
 * Deregisters a worker; the last one marks a clean shutdown. KEYS and the first three of ARGV as above;
 * then how long a worker without heartbeats counts as alive, in milliseconds. Answers 1 when marked.
 */
export const endEpochBeats = defineScript({
  name: 'deregister worker',
  lua: `${PRELUDE}
redis.call('HDEL', KEYS[2], ARGV[3])
dropGone(KEYS[2], clock(), tonumber(ARGV[4]))
if redis.call('EXISTS', KEYS[2]) == 1 or not has(KEYS[1], ARGV[1], tonumber(ARGV[2])) then return 0 end
redis.call('HSET', KEYS[1], 'stopped', 1)
return 1`,
});

/** KEYS: epoch. Answers [fields and values in turn, now, server, its start time or 0]. */
const fetchEpoch = defineScript({
  name: 'fetch epoch',
  lua: `${PRELUDE}
local now, up = clock(), string.match(info, 'uptime_in_seconds:(%d+)')
return { redis.call('HGETALL', KEYS[1]), now, server, up and now - up * 1000 or 0 }`,
});

/**
 * Records that Redis looks like an old copy. What is missing belongs to the term before; where it does already, the present
 * term goes on, for others remember it. KEYS: those of a hold, then the epoch. ARGV: id and time of the event that were
 * read (id '' for none), id for a new term, the term that is missing (id, bornAt, beats that are known to be missing), why,
 * time of the copy, how much is missing in milliseconds, verdict ('held' places the hold, too), channel of hold hints.
 * Answers as a heartbeat does; [] when another process recorded an event meanwhile: read again.
 */
const markRestored = defineScript({
  name: 'mark restored',
  parse: termFrom,
  lua: `${HOLD_PRELUDE}${PRELUDE}
local epoch = KEYS[4]
if field(epoch, 'id') ~= ARGV[1] or field(epoch, 'eventAt') ~= ARGV[2] then return {} end
if field(epoch, 'before') ~= ARGV[4] then redis.call('HSET', epoch, 'id', ARGV[3], 'bornAt', now) end
redis.call('HSET', epoch, 'server', server, 'before', ARGV[4], 'beforeBornAt', ARGV[5], 'beforeBeats', ARGV[6],
  'beforeAt', ARGV[8], 'eventAt', now, 'why', ARGV[7], 'copyAt', ARGV[8], 'missingMs', ARGV[9], 'verdict', ARGV[10])
if ARGV[10] == 'held' then
  placeManual('queue', 'restored', ARGV[7])
  redis.call('PUBLISH', ARGV[11], 'restored')
end
return advance(epoch, now, '')`,
});

/** Reads the epoch and the server that stores it, without advancing it. */
export async function readEpoch(
  redis: RedisClient,
  keys: Pick<Keys, 'epoch'>,
): Promise<EpochReading> {
  const reply = await translated(fetchEpoch(redis, [keys.epoch], []));
  const [flat, now, server, startedAt] = reply as [string[], number, string, number];
  return { epoch: epochFrom(recordOf(flat)), now, server, startedAt };
}

function epochFrom(fields: Readonly<Record<string, string>>): Epoch | undefined {
  const text = (name: string) => fields[name] ?? '';
  const number = (name: string) => Number(text(name)) || 0;
  const term = (id: string, bornAt: string, beats: string, at: string) =>
    id in fields
      ? { id: text(id), bornAt: number(bornAt), beats: number(beats), at: number(at) }
      : undefined;
  const present = term('id', 'bornAt', 'beats', 'at');
  if (present === undefined) return undefined;
  const event: RestoreEvent = {
    at: number('eventAt'),
    why: text('why') as Suspicion,
    copyAt: number('copyAt'),
    missingMs: number('missingMs'),
    verdict: text('verdict') === 'held' ? 'held' : 'warned',
  };
  return {
    ...present,
    server: text('server'),
    before: term('before', 'beforeBornAt', 'beforeBeats', 'beforeAt'),
    stopped: text('stopped') === '1',
    event: 'eventAt' in fields ? event : undefined,
  };
}

/**
 * Records for the fleet that Redis looks like an old copy; `held` also holds the queue, in the same step.
 * @param epoch as it was read
 * @param missing the term of which something is missing: that which is remembered, or else the present one
 * @returns what to remember; undefined when another process recorded an event meanwhile: read again
 */
export async function recordRestored(
  redis: RedisClient,
  keys: Keys,
  epoch: Epoch,
  missing: Term,
  { why, copyAt, missingMs, verdict }: Omit<RestoreEvent, 'at'>,
): Promise<Term | undefined> {
  // Once a person decides, nothing else is missing of that term.
  const beats = verdict === 'held' ? Number.MAX_SAFE_INTEGER : missing.beats;
  const of = [missing.id, missing.bornAt, beats];
  const what = [why, copyAt, Math.round(missingMs), verdict, hintChannel(redis, keys.holdHints)];
  const args = [epoch.id, epoch.event?.at ?? '', randomUUID(), ...of, ...what];
  return translated(markRestored(redis, [...holdKeys(keys), keys.epoch], args));
}
