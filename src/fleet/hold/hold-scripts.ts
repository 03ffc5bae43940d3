import type { HoldKind } from '../../contracts/hold.ts';
import { DONE_MS, type Keys } from '../../redis/keys.ts';
import { defineScript } from '../../redis/script.ts';

/** Lifetime of BullMQ's limiter keys while only a person lifts the hold, in milliseconds. */
const MANUAL_HOLD_MS = 365 * 24 * 3_600_000;

/** Acceptances without a failed probe in between that lift the hold `failing`: where half of all fail, one proves little. */
const PASSES = 2;

/** For so long after a hold is lifted it is known by whose request, in milliseconds. */
const LIFTED_MS = 60_000;

/** Most templates that are held at a time: more are not, and their notices end by themselves. */
const MOST_HELD = 1_000;

/** Jobs of a template that a person holds look at it again after this time. */
const MANUAL_LOOK_MS = 15_000;

/** Most probes of a held template in one round: 1, 2, 4, ... */
export const MOST_PROBES = 20;

export interface ProbeLimits {
  readonly minMs: number;
  readonly maxMs: number;
}

/**
 * The distance between probes, which doubles with each. Where a probe takes nothing they come more often: for
 * `unreachable` no request is made, and what refuses the keys, a template, or is not the API takes none.
 */
export function probeLimits(kind: HoldKind, { minMs, maxMs }: ProbeLimits): ProbeLimits {
  if (kind === 'unreachable') return { minMs, maxMs: Math.min(maxMs, 2 * minMs + 1_000) };
  const isFree = kind === 'credentials' || kind === 'address' || kind === 'template';
  return isFree ? { minMs: minMs / 2, maxMs: maxMs / 4 } : { minMs, maxMs };
}

/** What a hold is about: everything, or the notices of a template by their name (`heldName`). */
export type HoldScope = 'queue' | `template:${string}`;

export const templateScope = (name: string): HoldScope => `template:${name}`;

export const nameIn = (scope: string) => scope.slice('template:'.length);

/** KEYS of all transitions. */
export const holdKeys = ({ hold, limiter, chunkLimiter }: Keys): readonly string[] => [
  hold,
  limiter,
  chunkLimiter,
];

/**
 * Shared by the transitions of a hold (hold-gate.ts), which are one script each, so that they are atomic for the fleet.
 * KEYS: the holds, and BullMQ's limiter keys, one for each queue.
 *
 * A hold is JSON in the field of its scope: kind, code, since, next (time of the next round of probes), round, left (probes
 * of this round that are not taken yet), passed, min and max (time between rounds), before (the
 * manual hold that `restored` replaced, which is in force again after it). The worker that takes the last probe of a round
 * moves the next one away: nothing is lost with a probe whose worker dies. Of the queue a round is one probe. Of a template
 * they are 1, 2, 4, ...: a refusal takes nothing, so several at a time find a good notice behind many that are at fault. The
 * field `lifter` has when and by which process the queue was lifted last, `lifted` when by a person.
 *
 * The limiter keys follow the hold of the queue. They contain a small counter of BullMQ while it is open, and BLOCKED
 * while it is held; only BLOCKED may be extended or removed here.
 */
export const HOLD_PRELUDE = `
local holds, now = KEYS[1], clock()
alsoWhenFull()
local BLOCKED = 9007199254740991
local function read(scope)
  local held = jsonOf(redis.call('HGET', holds, scope))
  if not held or type(held.kind) ~= 'string' then return nil end
  held.next, held.round = tonumber(held.next) or 0, tonumber(held.round) or 0
  return held
end
-- Such a hold has no probe: only a person lifts it.
local function isManual(held) return held.kind == 'manual' or held.kind == 'restored' end
local function block(ms)
  for index = 2, 3 do redis.call('SET', KEYS[index], BLOCKED, 'PX', ms) end
end
local function unblock()
  for index = 2, 3 do
    if tonumber(redis.call('GET', KEYS[index]) or 0) >= BLOCKED then redis.call('DEL', KEYS[index]) end
  end
end
local function write(scope, held, at)
  held.next = math.ceil(at)
  redis.call('HSET', holds, scope, cjson.encode(held))
  if scope ~= 'queue' then return end
  if isManual(held) then block(${MANUAL_HOLD_MS})
  elseif held.next > now then block(held.next - now)
  else unblock() end
end
local function placeManual(scope, kind, code)
  local held = read(scope)
  if not held or held.kind ~= kind then
    held = { kind = kind, since = now, before = held and held.kind == 'manual' and held or nil }
  end
  held.code = code
  write(scope, held, 0)
end
`;

/**
 * Places a hold, or replaces one of another kind; a manual hold stays as it is, and the next probe only moves further away.
 * A person replaces any but `restored`, whose report comes first. ARGV: channel, scope, kind, code, and of a hold that is
 * probed: milliseconds to the next probe where the cause names them (else 0), shortest and longest time between probes.
 * Answers the time of the next probe; -1 where `restored` stays.
 */
export const placeHold = defineScript({
  name: 'place hold',
  lua: `${HOLD_PRELUDE}
local scope, kind, code = ARGV[2], ARGV[3], ARGV[4]
local held = read(scope)
if kind == 'manual' then
  if held and held.kind == 'restored' then return -1 end
  placeManual(scope, kind, code)
  redis.call('PUBLISH', ARGV[1], kind)
  return 0
end
local forMs, min, max = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
if held and (isManual(held) or held.kind == kind and forMs == 0) then return held.next end
if not held and scope ~= 'queue' and redis.call('HLEN', holds) >= ${MOST_HELD} then return 0 end
local at = math.max(held and held.next or 0, now + (forMs > 0 and forMs or min))
if not held or held.kind ~= kind then
  held = { kind = kind, since = now, round = 0, min = min, max = max }
end
held.code, held.passed, held.left = code, 0, 1
write(scope, held, at)
redis.call('PUBLISH', ARGV[1], kind)
return held.next`,
  parse: Number,
});

/** A probe of the hold that is in effect since then. */
export interface Probe {
  readonly scope: HoldScope;
  readonly kind: HoldKind;
  readonly since: number;
  readonly round: number;
}

type HoldVerdict =
  /** It is open; `lifter`: whose request lifted the last hold of the queue a moment ago. */
  { readonly lifter: string } | Probe | { readonly kind: HoldKind; readonly nextAt: number };

/**
 * Asks to make an attempt. ARGV: scope. Answers ['open', who lifted the last hold of the queue a moment ago or ''],
 * ['probe', kind, since, round, scope], or ['wait', kind, time of the next probe].
 */
export const enterHold = defineScript({
  name: 'enter hold',
  lua: `${HOLD_PRELUDE}
local scope = ARGV[1]
local held, isQueue = read(scope), scope == 'queue'
if not held then
  local at, id = string.match(redis.call('HGET', holds, 'lifter') or '', '^(%d+) (.*)$')
  return { 'open', at and math.abs(now - tonumber(at)) < ${LIFTED_MS} and id or '' }
end
if isManual(held) then
  if isQueue then block(60000) end
  return { 'wait', held.kind, now + ${MANUAL_LOOK_MS} }
end
local at = held.next
if at > now then
  if isQueue then block(at - now) end
  return { 'wait', held.kind, at }
end
held.left = (tonumber(held.left) or 1) - 1
if held.left <= 0 then
  held.round = held.round + 1
  held.left = isQueue and 1 or math.min(2 ^ math.min(held.round, 10), ${MOST_PROBES})
  at = now + math.min((held.min or 1000) * 2 ^ math.min(held.round, 30), held.max or 60000)
end
write(scope, held, at)
return { 'probe', held.kind, held.since, held.round, scope }`,
  parse: (reply: unknown): HoldVerdict => {
    const [verdict, what, at, round, scope] = reply as [
      'open' | 'probe' | 'wait',
      string,
      number,
      number,
      HoldScope,
    ];
    if (verdict === 'open') return { lifter: what };
    const kind = what as HoldKind;
    return verdict === 'wait' ? { kind, nextAt: at } : { scope, kind, since: at, round };
  },
});

/**
 * Ends a probe that the service answered (hold-gate.ts has the table), or that made no request. ARGV: channel, scope, since
 * when the hold was in effect that it probed, 'accepted', 'rejected' or 'abandoned', id of the process.
 */
export const endProbe = defineScript({
  name: 'end probe',
  lua: `${HOLD_PRELUDE}
local scope, how = ARGV[2], ARGV[4]
local held = read(scope)
if not held or isManual(held) or held.since ~= tonumber(ARGV[3]) then return 0 end
local kind = held.kind
if how == 'accepted' then held.passed = (held.passed or 0) + 1 end
if how == 'abandoned'
  or how == 'rejected' and (kind == 'failing' or kind == 'credit' or kind == 'credentials')
  or how == 'accepted' and kind == 'failing' and held.passed < ${PASSES} then
  held.round = math.max(0, held.round - 1)
  write(scope, held, now)
  return 0
end
redis.call('HDEL', holds, scope)
if scope == 'queue' then
  redis.call('HSET', holds, 'lifter', string.format('%.0f %s', now, ARGV[5]))
  unblock()
end
redis.call('PUBLISH', ARGV[1], '')
return 1`,
});

/**
 * Lifts the hold in effect: of the queue, whose refused issuances from before are over then, or of a template with all
 * sender keys. KEYS: also the mark of the request, so that it answers the same when it is repeated. ARGV: channel, scope,
 * the kind of the hold that was seen, or '' for any. Answers the kind of the hold in effect, or ''; with another one than was
 * seen, nothing is lifted.
 */
export const liftManual = defineScript({
  name: 'lift hold',
  lua: `${HOLD_PRELUDE}
local done = redis.call('GET', KEYS[4])
if done then return done end
local scope, seen = ARGV[2], ARGV[3]
local kind, found, before = '', {}, nil
for _, name in ipairs(redis.call('HKEYS', holds)) do
  if name == scope or string.match(name, '^(template:.*)\\n') == scope then
    found[#found + 1] = name
    local held = read(name)
    if held and (kind == '' or held.kind == seen) then kind = held.kind end
    if name == 'queue' and held and type(held.before) == 'table' then before = held.before end
  end
end
if kind ~= '' and seen ~= '' and kind ~= seen then return kind end
for _, name in ipairs(found) do redis.call('HDEL', holds, name) end
if scope == 'queue' then
  if before then write(scope, before, 0) else unblock() end
  redis.call('HSET', holds, 'lifted', string.format('%.0f', now))
end
redis.call('PUBLISH', ARGV[1], before and before.kind or '')
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
local held = read('queue')
if not held or held.kind ~= 'credentials' then return 0 end
held.round = 0
write('queue', held, now)
redis.call('PUBLISH', ARGV[1], '')
return 1`,
});
