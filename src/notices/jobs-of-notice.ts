/**
 * Lua that finds the jobs of a notice; the scripts of this folder begin with it. `jobs` is the prefix of
 * BullMQ's keys of the queue.
 *
 * `find(mode, text)` answers the id of the notice and how many jobs it has: 1 where the job has the id
 * itself, 0 where there is none. A notice of several jobs has no record of its own: each of its jobs
 * contains their number, so the first one that is still there answers it. Earlier versions did not store
 * the number; then it is the number of jobs up to the last one that is there.
 */
export const JOBS_OF_NOTICE = `
local MOST_JOBS = 1000
-- The queue has keys of its own under the same prefix.
local function exists(id)
  local key = jobs .. id
  return redis.call('TYPE', key).ok == 'hash' and redis.call('HEXISTS', key, 'data') == 1
end
local function nth(id, index, total)
  return total == 1 and id or id .. '-' .. index
end
local function find(mode, text)
  local id = text
  if mode == 'key' then
    local first = redis.call('GET', jobs .. 'de:' .. text)
    if not first then return '', 0 end
    id = string.gsub(first, '%-0$', '')
  end
  if exists(id) then return id, 1 end
  local names, last = {}, 0
  for index = 0, MOST_JOBS - 1 do names[index + 1] = jobs .. id .. '-' .. index end
  -- One command for an id that does not exist.
  if redis.call('EXISTS', unpack(names)) == 0 then return id, 0 end
  for index = 0, MOST_JOBS - 1 do
    local one = id .. '-' .. index
    if exists(one) then
      local total = string.match(redis.call('HGET', jobs .. one, 'data'), '^{"v":%d+,"jobs":(%d+),')
      if total then return id, tonumber(total) end
      last = index + 1
    end
  end
  return id, last
end
`;

/**
 * Lua that ends what BullMQ stores of a job. `isPart` tells whether its notice has others. `settledInPart` tells from its
 * data whether some of its contacts have a result of their own: the service may have accepted these. `releaseKey` deletes its
 * idempotency key, unless another notice has it, and answers whether it did; it comes before `removeJob`. That one keeps
 * the key: a call that is repeated within the window must not send the notice a second time.
 */
export const REMOVE_JOB = `
local function isPart(id)
  return string.find(redis.call('HGET', jobs .. id, 'data') or '', '^{"v":%d+,"jobs":%d+,')
end
local function settledInPart(data)
  if not string.find(data, '"accepted":', 1, true) and not string.find(data, '"settled":', 1, true) then
    return false
  end
  -- No worker wrote data that is not JSON, or no object.
  local isJson, job = pcall(cjson.decode, data)
  return isJson and type(job) == 'table' and (job.accepted ~= nil or job.settled ~= nil)
end
local function releaseKey(id)
  local name = redis.call('HGET', jobs .. id, 'deid')
  local isOwn = name and redis.call('GET', jobs .. 'de:' .. name) == id
  if isOwn then redis.call('DEL', jobs .. 'de:' .. name) end
  return isOwn
end
local function removeJob(id)
  local job = jobs .. id
  redis.call('DEL', job, job .. ':logs', job .. ':dependencies', job .. ':processed', job .. ':failed', job .. ':unsuccessful')
end
`;
