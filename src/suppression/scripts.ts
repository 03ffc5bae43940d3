import { WHOLE_BYTES } from '../number-index/number-prints.ts';
import { defineScript } from '../redis/script.ts';

/*
 * The do-not-send list: a number is a field of one of BUCKETS hashes. The first 18 bits of its print (number-prints.ts)
 * name the hash, the last 48 are the field, so two bits are in both. The value is the minute since the epoch times
 * REASONS, plus the place of the reason. So Redis stores the hashes compactly up to some twenty million numbers.
 */
export const BUCKETS = 2 ** 18;
export const FIELD_BYTES = 6;
/** As many reasons as there can be. */
export const REASONS = 16;

/** KEYS of all scripts: the list. ARGV: the print of the key of the list, prints of numbers. */
const PRELUDE = `
local list, ofKey, prints = KEYS[1], ARGV[1], ARGV[2]
local known = redis.call('HGET', list, 'key')
local function place(index)
  local from = index * ${WHOLE_BYTES}
  local first, second, third = string.byte(prints, from + 1, from + 3)
  local bucket = list .. ':' .. (first * 1024 + second * 4 + math.floor(third / 64))
  return bucket, string.sub(prints, from + ${WHOLE_BYTES - FIELD_BYTES + 1}, from + ${WHOLE_BYTES})
end
local last = #prints / ${WHOLE_BYTES} - 1
`;

export const OTHER_KEY = 'other-key';

type FoundNumbers = 'empty' | typeof OTHER_KEY | ReadonlyMap<number, number>;

/** Answers which of the numbers are on the list, by index, with their values. */
export const lookUp = defineScript<FoundNumbers>({
  name: 'look up numbers not to send to',
  lua: `${PRELUDE}
if not known then return 'empty' end
if known ~= ofKey then return '${OTHER_KEY}' end
local hits = {}
for index = 0, last do
  local bucket, field = place(index)
  local value = redis.call('HGET', bucket, field)
  if value then
    hits[#hits + 1] = index
    hits[#hits + 1] = tonumber(value)
  end
end
return hits`,
  parse: (reply) => {
    if (!Array.isArray(reply)) return reply as 'empty' | typeof OTHER_KEY;
    const hits = new Map<number, number>();
    for (let at = 0; at < reply.length; at += 2) hits.set(Number(reply[at]), Number(reply[at + 1]));
    return hits;
  },
});

/**
 * Adds or removes numbers. ARGV: also `add` or `remove`, the place of the reason, channel. A number that is on the list
 * keeps its reason and time. Then how the key of the list is stored: field and value. Answers how many were added or removed; -1 where the list has another key.
 */
export const changeList = defineScript({
  name: 'change numbers not to send to',
  lua: `${PRELUDE}
if known and known ~= ofKey then return -1 end
local changed, isAdd = 0, ARGV[3] == 'add'
local value = string.format('%.0f', math.floor(clock() / 60000) * ${REASONS} + tonumber(ARGV[4]))
-- Workers that know that it is empty have to ask. First: where it is refused, nothing is written.
if isAdd and not known then
  redis.call('PUBLISH', ARGV[5], '')
  redis.call('HSET', list, 'key', ofKey, ARGV[6], ARGV[7])
end
for index = 0, last do
  local bucket, field = place(index)
  if isAdd then changed = changed + redis.call('HSETNX', bucket, field, value)
  else changed = changed + redis.call('HDEL', bucket, field) end
end
if changed > 0 then
  local count = redis.call('HINCRBY', list, 'count', isAdd and changed or -changed)
  if count <= 0 then redis.call('DEL', list) end
end
return changed`,
  parse: Number,
});

/**
 * Stores the key of the list for another PAYLOAD_KEY. ARGV: print of the key of the list, field and value, and fields to
 * remove.
 */
export const keepKey = defineScript({
  name: 'keep the key of the numbers not to send to',
  lua: `
local list = KEYS[1]
if redis.call('HGET', list, 'key') ~= ARGV[1] then return 0 end
redis.call('HSETNX', list, ARGV[2], ARGV[3])
for index = 4, #ARGV do redis.call('HDEL', list, ARGV[index]) end
return 1`,
  parse: Number,
});

export interface StoredBucket {
  readonly bucket: number;
  /** Fields and values, alternating. */
  readonly flat: readonly Buffer[];
}

/** Reads the buckets from one on, up to another one. ARGV: these two. Empty ones are left out. */
export const readBuckets = defineScript<readonly StoredBucket[]>({
  name: 'read numbers not to send to',
  binary: true,
  lua: `
local found = {}
for bucket = tonumber(ARGV[1]), tonumber(ARGV[2]) - 1 do
  local flat = redis.call('HGETALL', KEYS[1] .. ':' .. bucket)
  if #flat > 0 then
    found[#found + 1] = bucket
    found[#found + 1] = flat
  end
end
return found`,
  parse: (reply) => {
    const list = reply as readonly (number | readonly Buffer[])[];
    return Array.from({ length: list.length / 2 }, (_, index) => ({
      bucket: list[2 * index] as number,
      flat: list[2 * index + 1] as readonly Buffer[],
    }));
  },
});
