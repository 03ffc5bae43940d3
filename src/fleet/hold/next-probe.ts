/**
 * How many of the newest jobs are searched for one that has not met the hold: more than leave a probe to others, and
 * what was tried again before the hold was placed.
 */
const NEWEST = 256;

/** How many different priorities are searched, beginning with the last that workers take. */
const PRIORITIES = 16;

/** BullMQ's score of a job with a priority: the priority times this, and a counter of the queue. */
const PRIORITY_STEP = 2 ** 32;

/**
 * Lua of `meetHold`: which waiting job probes after a failed probe of what may be some notices' own. It is the
 * newest that has not met the hold; first in, first out would try each of them first.
 *
 * `probeNext(wait, chunks, prioritized)` moves it to the head, a chunk and a notice. Workers take all notices
 * without a priority first, then the lower numbers; where hundreds at fault come first, no other would ever be
 * tried. So notices without and with a priority take turns, for new ones at fault may arrive in either place.
 * In the hash of the hold, `turn` counts the turns, and `ahead` is the last notice with a priority that was moved
 * to the head: where another job came before it, it is moved there again.
 */
export const PROBE_NEXT = `
local function firstFresh(jobs)
  local known = #jobs > 0 and redis.call('HMGET', witness, unpack(jobs)) or {}
  for at, one in ipairs(jobs) do
    local other = readWitness(known[at])
    if not (other and other.refused) then return one end
  end
end
local function newestIn(list) return firstFresh(redis.call('LRANGE', list, 0, ${NEWEST - 1})) end
local function newestWithPriority(set)
  local below, newest, newestAt = '+inf', nil, -1
  for _ = 1, ${PRIORITIES} do
    local score = redis.call('ZREVRANGEBYSCORE', set, below, '-inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    if not score then break end
    local from = string.format('%.0f', math.floor(score / ${PRIORITY_STEP}) * ${PRIORITY_STEP})
    local one = firstFresh(redis.call('ZREVRANGEBYSCORE', set, below, from, 'LIMIT', 0, ${NEWEST}))
    local at = one and redis.call('ZSCORE', set, one) % ${PRIORITY_STEP} or -1
    if at > newestAt then newest, newestAt = one, at end
    below = '(' .. from
  end
  return newest
end
local function probeNext(wait, chunks, prioritized)
  -- Counted from the end at which the one is expected.
  local function toHead(list, one, count)
    if not one or redis.call('LREM', list, count or 1, one) == 0 then return false end
    redis.call('RPUSH', list, one)
    return true
  end
  local function plain() return toHead(wait, newestIn(wait)) end
  local function prior()
    local ahead = redis.call('HGET', hold, 'ahead')
    if ahead and firstFresh({ ahead }) and toHead(wait, ahead, -1) then return true end
    if ahead then redis.call('HDEL', hold, 'ahead') end
    local one = newestWithPriority(prioritized)
    if not one then return false end
    redis.call('ZREM', prioritized, one)
    redis.call('RPUSH', wait, one)
    redis.call('HSET', hold, 'ahead', one)
    return true
  end
  toHead(chunks, newestIn(chunks))
  local isTurnOfPrior = redis.call('HINCRBY', hold, 'turn', 1) % 2 == 0
  if isTurnOfPrior then return prior() or plain() end
  return plain() or prior()
end
`;
