import { randomUUID } from 'node:crypto';
import { HOLDS, type Hold, type HoldKind } from '../../contracts/hold.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { hintChannel } from '../../redis/hints.ts';
import { type Keys, DONE_MS } from '../../redis/keys.ts';
import { defineScript } from '../../redis/script.ts';

/** Lifetime of a hold that only a person lifts, in milliseconds. */
export const MANUAL_HOLD_MS = 365 * 24 * 3_600_000;

/** Acceptances without a failed probe in between that lift the hold `failing`: where half of all fail, one proves little. */
const PASSES = 2;

/** For so long after a hold is lifted it is known by whose request, in milliseconds. */
const LIFTED_MS = 60_000;

/**
 * KEYS of the transitions of a hold (hold-gate.ts), which are one script each, so that they are atomic for the
 * fleet: the hold's hash, and BullMQ's limiter keys, one for each queue.
 */
export const holdKeys = (keys: Keys): readonly string[] => [
  keys.hold,
  keys.limiter,
  keys.chunkLimiter,
];

/**
 * Shared by the scripts. The time of the next probe is in the hash; the limiter keys follow it. A limiter key
 * contains a small counter of BullMQ while the queue is open, and BLOCKED while it is held; only BLOCKED may
 * be extended or removed here.
 */
export const HOLD_PRELUDE = `
local hold = KEYS[1]
local now = clock()
alsoWhenFull()
local BLOCKED = 9007199254740991

local function nextProbe() return tonumber(redis.call('HGET', hold, 'nextProbeAt') or 0) or 0 end
-- Such a hold has no probe: only a person lifts it.
local function isManual(kind) return kind == 'manual' or kind == 'restored' end
local function block(ms)
  for index = 2, 3 do redis.call('SET', KEYS[index], BLOCKED, 'PX', ms) end
end
local function unblock()
  for index = 2, 3 do
    if tonumber(redis.call('GET', KEYS[index]) or 0) >= BLOCKED then redis.call('DEL', KEYS[index]) end
  end
end
local function probeAt(at)
  redis.call('HSET', hold, 'nextProbeAt', at)
  redis.call('PEXPIRE', hold, at - now + 86400000)
  if at > now then block(at - now) else unblock() end
end
`;

/**
 * Places a hold, or replaces one of another kind; a manual hold stays as it is, and the next probe only moves
 * further away. ARGV: kind, code, milliseconds to the next probe where the cause names them (else 0), shortest and
 * longest time between probes, channel. Answers the time of the next probe.
 */
export const placeHold = defineScript({
  name: 'place hold',
  lua: `${HOLD_PRELUDE}
local kind, code, forMs, min, max = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local current = redis.call('HGET', hold, 'kind')
if isManual(current) then return nextProbe() end
if current == kind and forMs == 0 then return nextProbe() end
local at = math.max(nextProbe(), now + math.ceil(forMs > 0 and forMs or min))
if current ~= kind then
  redis.call('HSET', hold, 'kind', kind, 'since', now, 'failedProbes', 0, 'min', min, 'max', max)
end
redis.call('HSET', hold, 'code', code, 'passed', 0, 'ahead', at - now)
probeAt(at)
redis.call('PUBLISH', ARGV[6], kind)
return at`,
});

/**
 * Asks to make an attempt. The process that takes the probe moves the next one further away: one that ends without an answer needs
 * no replacement. KEYS: also who lifted the last hold. Answers ['open', who lifted the last hold or ''],
 * ['probe', kind, since], or ['wait', kind, time of the next probe].
 */
export const enterHold = defineScript({
  name: 'enter hold',
  lua: `${HOLD_PRELUDE}
local record = redis.call('HMGET', hold, 'kind', 'since', 'failedProbes', 'min', 'max')
local kind = record[1]
if not kind then return { 'open', redis.call('GET', KEYS[4]) or '' } end
if isManual(kind) then
  block(60000)
  return { 'wait', kind, now + 60000 }
end
local at = nextProbe()
if at > now then
  block(at - now)
  return { 'wait', kind, at }
end
local failed = redis.call('HINCRBY', hold, 'failedProbes', 1)
probeAt(now + math.min(tonumber(record[4] or 1000) * 2 ^ math.min(failed, 30), tonumber(record[5] or 60000)))
return { 'probe', kind, record[2] or '' }`,
});

/**
 * Ends a probe that the service answered (hold-gate.ts has the table), or that made no request. KEYS: also who
 * lifted the last hold. ARGV: since when the hold was in effect that it probed, 'accepted', 'rejected' or 'abandoned', id
 * of the process, channel. Answers 1 when the hold was lifted.
 */
export const endProbe = defineScript({
  name: 'end probe',
  lua: `${HOLD_PRELUDE}
local record = redis.call('HMGET', hold, 'kind', 'since', 'failedProbes')
local kind, how = record[1], ARGV[2]
if not kind or isManual(kind) or record[2] ~= ARGV[1] then return 0 end
local another = how == 'abandoned'
  or how == 'rejected' and (kind == 'failing' or kind == 'credit' or kind == 'credentials')
  or how == 'accepted' and kind == 'failing' and redis.call('HINCRBY', hold, 'passed', 1) < ${PASSES}
if another then
  redis.call('HSET', hold, 'failedProbes', math.max(0, tonumber(record[3] or 0) - 1))
  probeAt(now)
  return 0
end
redis.call('DEL', hold)
redis.call('SET', KEYS[4], ARGV[3], 'PX', ${LIFTED_MS})
unblock()
redis.call('PUBLISH', ARGV[4], '')
return 1`,
});

/**
 * Holds the queue manually. Replaces an automatic hold, but not `restored`: a person who lifts that one
 * must have read its report. ARGV: why, channel.
 */
const placeManual = defineScript({
  name: 'place manual hold',
  lua: `${HOLD_PRELUDE}
local kind = redis.call('HGET', hold, 'kind')
if kind == 'restored' then return 0 end
if kind ~= 'manual' then
  redis.call('DEL', hold)
  redis.call('HSET', hold, 'kind', 'manual', 'since', now, 'nextProbeAt', 0, 'failedProbes', 0)
end
redis.call('HSET', hold, 'code', ARGV[1])
redis.call('PEXPIRE', hold, ${MANUAL_HOLD_MS})
block(${MANUAL_HOLD_MS})
redis.call('PUBLISH', ARGV[2], 'manual')
return 1`,
});

/**
 * Lifts the hold in effect; refused issuances from before are over then. KEYS: also the mark of the request, so that it
 * answers the same when it is repeated, and the time of the lift. ARGV: channel, the kind of the hold that was seen, or '' for any. Answers the kind of the hold in effect, or ''; with another
 * one than was seen, nothing is lifted.
 */
export const liftManual = defineScript({
  name: 'lift hold',
  lua: `${HOLD_PRELUDE}
local done = redis.call('GET', KEYS[4])
if done then return done end
local kind = redis.call('HGET', hold, 'kind') or ''
if kind ~= '' and ARGV[2] ~= '' and kind ~= ARGV[2] then return kind end
redis.call('DEL', hold)
unblock()
redis.call('SET', KEYS[5], string.format('%.0f', now), 'PX', ${LIFTED_MS})
redis.call('PUBLISH', ARGV[1], '')
redis.call('SET', KEYS[4], kind, 'PX', ${DONE_MS})
return kind`,
});

/**
 * A worker starts whose key pair was not refused: a refusal of the keys was that of another pair, so that the next probe is
 * due, and those after it are near. ARGV: channel.
 */
export const tryOtherKeys = defineScript({
  name: 'try other keys',
  lua: `${HOLD_PRELUDE}
if redis.call('HGET', hold, 'kind') ~= 'credentials' then return 0 end
redis.call('HSET', hold, 'failedProbes', 0)
probeAt(now)
redis.call('PUBLISH', ARGV[1], '')
return 1`,
});

/**
 * No look at an open batch (workers/maintenance/batch-walker.ts) and no probe of a template is further ahead, in
 * milliseconds.
 */
const MOST_PUT_OFF_MS = 60_000;

/**
 * Ends what the fleet waits for, after the clock of Redis went back: the times of these keys would come later by as
 * much. Holds are probed at once. At a start, when nothing saw the clock before, only those whose probe is further ahead
 * than any was set. While BullMQ's limiter keys are there, no job comes to {@link enterHold}; without a hold
 * they are those of a rate limit, which sets them anew. Its marks that stalled jobs were looked for a moment ago are
 * deleted: any worker may look at any time. KEYS: as the holds, these marks, the open batches by the time of their next
 * look, the held templates. ARGV: '1' where the clock was seen to go back, channel. Answers 1 where a probe was moved.
 */
const boundFleet = defineScript({
  name: 'bound waits',
  lua: `${HOLD_PRELUDE}
redis.call('DEL', KEYS[4], KEYS[5])
local late = redis.call('ZRANGEBYSCORE', KEYS[6], '(' .. (now + ${MOST_PUT_OFF_MS}), '+inf')
for _, id in ipairs(late) do redis.call('ZADD', KEYS[6], now, id) end
local found = 0
local function isLate(at, most) return ARGV[1] == '1' or at > now + most end
local templates = redis.call('HGETALL', KEYS[7])
for index = 1, #templates, 2 do
  local isRead, held = pcall(cjson.decode, templates[index + 1])
  if isRead and type(held) == 'table' and held.kind ~= 'manual' and isLate(tonumber(held.next) or 0, ${MOST_PUT_OFF_MS}) then
    held.next, found = now, 1
    redis.call('HSET', KEYS[7], templates[index], cjson.encode(held))
  end
end
if found == 1 then redis.call('PUBLISH', ARGV[2], '') end
local record = redis.call('HMGET', hold, 'kind', 'max', 'ahead')
if isManual(record[1]) then return found end
if not record[1] then unblock()
elseif isLate(nextProbe(), math.max(tonumber(record[2] or 0), tonumber(record[3] or 0))) then
  probeAt(now)
  found = 1
end
return found`,
});

/** Reads the hold in effect; undefined when there is none. */
export async function readHold(redis: RedisClient, keys: Keys): Promise<Hold | undefined> {
  const fields = await redis.hgetall(keys.hold);
  const kind = fields['kind'];
  if (kind === undefined || !(kind in HOLDS)) return undefined;
  return {
    kind: kind as HoldKind,
    code: fields['code'] ?? '',
    since: Number(fields['since']),
    nextProbeAt: Number(fields['nextProbeAt']),
    failedProbes: Number(fields['failedProbes']),
  };
}

/**
 * Holds the queue manually, until {@link liftManualHold}.
 * @param why a few words, shown as the hold's code by `notices status`
 * @returns false where the hold `restored` is in effect, which stays
 */
export async function placeManualHold(
  redis: RedisClient,
  keys: Keys,
  why: string,
): Promise<boolean> {
  const args = [why, hintChannel(redis, keys.holdHints)];
  return (await placeManual(redis, holdKeys(keys), args)) === 1;
}

/**
 * Lifts the hold in effect. If its cause persists, the next send places it again.
 * @param seen the kind that the person has seen: no other one is lifted. Default: any
 * @returns the kind of the hold in effect; undefined when there was none
 */
export async function liftManualHold(
  redis: RedisClient,
  keys: Keys,
  seen?: HoldKind,
): Promise<HoldKind | undefined> {
  const from = [...holdKeys(keys), keys.done(randomUUID()), keys.lifted];
  const args = [hintChannel(redis, keys.holdHints), seen ?? ''];
  const kind = String(await liftManual(redis, from, args));
  return kind in HOLDS ? (kind as HoldKind) : undefined;
}

/**
 * To be called at a start, and when the clock of Redis went back. Safe to repeat.
 * @param wasSeen whether it was seen to go back
 * @returns whether it went back
 */
export async function boundWaits(
  redis: RedisClient,
  keys: Keys,
  wasSeen: boolean,
): Promise<boolean> {
  const bounded = [...holdKeys(keys), ...keys.stalledChecks, keys.openBatches, keys.templateHolds];
  const args = [wasSeen ? '1' : '', hintChannel(redis, keys.holdHints)];
  return (await boundFleet(redis, bounded, args)) === 1 || wasSeen;
}
