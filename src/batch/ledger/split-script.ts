import { ledgerScript } from './ledger-prelude.ts';

/** How long a request that is done is remembered: longer than a connection takes to be reopened. */
const DONE_MS = 30_000;

/**
 * Takes some contacts out of an unknown failure; they become a failure of their own, so that a decision on
 * them leaves the others as they are. The counts of the batch do not change.
 *
 * ARGV: name of the failure, its number of contacts, how many are taken out, the payload of the rest, the
 * payload of those that are taken out. The last key is the mark that this request is done: a connection
 * that is reopened repeats its commands. Returns ['split', name of the new failure], ['known'] if the failure
 * has changed meanwhile, or ['gone'].
 */
export const splitFailure = ledgerScript(
  'split',
  `
local name, size, taken = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
if not field('phase') then return { 'gone' } end
local done = redis.call('GET', KEYS[11])
if done then return { 'split', done } end
local stored = redis.call('HGET', failures, name)
local failure = stored and cjson.decode(stored)
if not failure or failure.state ~= 'unknown' or failure.size ~= size or taken < 1 or taken >= size then
  return { 'known' }
end
local chunk = string.match(name, '^%d+')
local part = chunk .. '.' .. redis.call('HINCRBY', sizes, chunk .. '.parts', 1)
failure.size = size - taken
redis.call('HSET', failures, name, cjson.encode(failure))
redis.call('HSET', payload, name, ARGV[4])
failure.size = taken
redis.call('HSET', failures, part, cjson.encode(failure))
redis.call('HSET', payload, part, ARGV[5])
redis.call('SET', KEYS[11], part, 'PX', ${DONE_MS})
return { 'split', part }`,
  { extraKeys: 1 },
);
