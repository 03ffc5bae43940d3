/*
 * Pieces of Lua about the job of a notice, for the scripts of this folder and of src/erase. `jobs` is the prefix of
 * BullMQ's keys of the queue.
 */

/**
 * The id of a notice by itself, or by the hash of its idempotency key; empty where the key is not in use. And where its
 * job is: the waiting list is not searched, as it may be long, and a job that is nowhere else is in it.
 */
export const FIND_JOB = `
local function idOf(mode, text)
  if mode == 'key' then return redis.call('GET', jobs .. 'de:' .. text) or '' end
  return text
end
-- The queue has keys of its own under the same prefix.
local function exists(id)
  local key = jobs .. id
  return redis.call('TYPE', key).ok == 'hash' and redis.call('HEXISTS', key, 'data') == 1
end
local function placeOf(id)
  if redis.call('ZSCORE', jobs .. 'completed', id) then return 'completed' end
  if redis.call('ZSCORE', jobs .. 'failed', id) then return 'failed' end
  local due = redis.call('ZSCORE', jobs .. 'delayed', id)
  if due then return 'delayed', due end
  if redis.call('ZSCORE', jobs .. 'prioritized', id) then return 'prioritized' end
  if redis.call('EXISTS', jobs .. id .. ':lock') == 1 or redis.call('LPOS', jobs .. 'active', id) then
    return 'active'
  end
  return 'wait'
end
`;

/**
 * Ends what BullMQ stores of a job. It keeps the idempotency key: a call that is repeated within the window must not send
 * the notice a second time.
 */
export const REMOVE_JOB = `
local function removeJob(id)
  local job = jobs .. id
  redis.call('DEL', job, job .. ':logs', job .. ':dependencies', job .. ':processed', job .. ':failed', job .. ':unsuccessful')
end
`;

/** Makes the idempotency key of a notice free, unless another one has it. @returns whether it was. `name`: hash of the key */
export const RELEASE_KEY = `
local function releaseKey(name, id)
  local key = name and jobs .. 'de:' .. name
  return key and redis.call('GET', key) == id and redis.call('DEL', key) == 1
end
`;

/** Appends an event where the workers keep events of notices; one of them deletes the oldest. `account` and `stream` are keys. */
export const ANNOUNCE = `
local function announce(account, stream, id, state, code)
  if tonumber(redis.call('HGET', account, 'events') or 0) < 1 then return end
  redis.call('XADD', stream, '*', 'notice', id, 'state', state, 'code', code)
end
`;
