/**
 * How many of the newest jobs are searched for one that has not met the hold: more than leave a probe to others, and
 * what was tried again before the hold was placed. And how many of the oldest.
 */
const SEARCHED = 256;

/** How many different priorities are searched, beginning with the last that workers take. */
const PRIORITIES = 16;

/** BullMQ's score of a job with a priority: the priority times this, and a counter of the queue. */
const PRIORITY_STEP = 2 ** 32;

/** One in so many searches is for the oldest. */
export const OLDEST_EVERY = 5;

/**
 * For so long after the probe is due it is kept for the jobs that were chosen for it: workers have fetched them by
 * then, for they are the first that wait.
 */
export const KEPT_MS = 500;

/**
 * Lua of `meetHold`: which waiting job probes after a failed probe of what may be some notices' own. It is a job that
 * has not met the hold, and usually the newest; first in, first out would try each of those at fault first.
 *
 * `probeNext(wait, chunks, prioritized)` moves a chunk and a notice to the head, and the probe is kept for them
 * (`enterHold`): of the jobs that workers fetch together when the probe is due, another might ask first. In the hash of
 * the hold `next` and `nextChunk` are their ids, and `turn` counts the searches. A notice that was chosen remains so
 * until it has met the hold, or does not wait any more.
 *
 * Workers take all notices without a priority first, then the lower numbers; where hundreds at fault come first, no
 * other would ever be tried. So notices without and with a priority take turns, for new ones at fault may arrive in
 * either place. While they arrive as fast as the probes, the newest is one of them each time: therefore one search in
 * some is for the oldest, of each priority in turn.
 */
export const PROBE_NEXT = `
local function firstFresh(jobs)
  local known = #jobs > 0 and redis.call('HMGET', witness, unpack(jobs)) or {}
  for at, one in ipairs(jobs) do
    local other = readWitness(known[at])
    if not (other and other.refused) then return one end
  end
end
local function newestIn(list) return firstFresh(redis.call('LRANGE', list, 0, ${SEARCHED - 1})) end
local function oldestIn(list)
  local oldest, jobs = redis.call('LRANGE', list, -${SEARCHED}, -1), {}
  for at = #oldest, 1, -1 do table.insert(jobs, oldest[at]) end
  return firstFresh(jobs)
end
-- For each priority that has any: a job that has not met the hold, and its count in the queue.
local function ofPriorities(set, isOldest)
  local below, found = '+inf', {}
  for _ = 1, ${PRIORITIES} do
    local score = redis.call('ZREVRANGEBYSCORE', set, below, '-inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    if not score then break end
    local from = string.format('%.0f', math.floor(score / ${PRIORITY_STEP}) * ${PRIORITY_STEP})
    local one = firstFresh(isOldest and redis.call('ZRANGEBYSCORE', set, from, below, 'LIMIT', 0, ${SEARCHED})
      or redis.call('ZREVRANGEBYSCORE', set, below, from, 'LIMIT', 0, ${SEARCHED}))
    if one then table.insert(found, { one, redis.call('ZSCORE', set, one) % ${PRIORITY_STEP} }) end
    below = '(' .. from
  end
  return found
end
local function newestWithPriority(set)
  local newest, newestAt = nil, -1
  for _, found in ipairs(ofPriorities(set, false)) do
    if found[2] > newestAt then newest, newestAt = found[1], found[2] end
  end
  return newest
end
local function oldestOfOne(wait, prioritized, turn)
  local found = ofPriorities(prioritized, true)
  local plain = oldestIn(wait)
  if plain then table.insert(found, { plain }) end
  return #found > 0 and found[turn % #found + 1][1] or nil
end
local function probeNext(wait, chunks, prioritized)
  -- Counted from the end at which the one is expected.
  local function toHead(list, one, count)
    if not one then return nil end
    if redis.call('LREM', list, count or 1, one) == 0 then return nil end
    redis.call('RPUSH', list, one)
    return one
  end
  local function choose(one, count)
    if toHead(wait, one, count) then return one end
    if not one or redis.call('ZREM', prioritized, one) == 0 then return nil end
    redis.call('RPUSH', wait, one)
    return one
  end
  local function byTurn()
    local turn = redis.call('HINCRBY', hold, 'turn', 1)
    if turn % ${OLDEST_EVERY} == 0 then
      return choose(oldestOfOne(wait, prioritized, math.floor(turn / ${OLDEST_EVERY})), -1)
    end
    local plain = newestIn(wait)
    if plain and turn % ${OLDEST_EVERY} % 2 == 1 then return choose(plain) end
    return choose(newestWithPriority(prioritized)) or choose(plain)
  end
  local before = redis.call('HGET', hold, 'next')
  local chosen = before and firstFresh({ before }) and choose(before, -1) or byTurn()
  local chunk = toHead(chunks, newestIn(chunks))
  redis.call('HDEL', hold, 'next', 'nextChunk')
  if chosen then redis.call('HSET', hold, 'next', chosen) end
  if chunk then redis.call('HSET', hold, 'nextChunk', chunk) end
end
`;
