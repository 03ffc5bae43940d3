import { defineScript } from '../redis/script.ts';
import { JOBS_OF_NOTICE } from './jobs-of-notice.ts';

/** Where BullMQ has a job. */
export type JobPlace =
  'completed' | 'failed' | 'delayed' | 'prioritized' | 'active' | 'wait' | 'none';

/** One job as Redis has it: texts as they are stored. */
export interface StoredJob {
  readonly id: string;
  readonly place: JobPlace;
  /** When a delayed job is due: milliseconds since the epoch; 0 for others. */
  readonly due: number;
  /** Fields of the job, by their names in Redis. */
  readonly fields: Readonly<Partial<Record<JobField, string>>>;
  /** An at-most-once attempt at it was started and has no known end. */
  readonly intentOpen: boolean;
  /** Its entry in the list of unknown outcomes: JSON. */
  readonly listed: string | undefined;
}

/** Everything that one look-up reads, at one moment. */
export interface StoredNotice {
  /** Redis time, milliseconds since the epoch. */
  readonly now: number;
  readonly id: string;
  /** How many jobs the notice has; 0 where none is there. */
  readonly total: number;
  readonly jobs: readonly StoredJob[];
  /** The hashes of hold, rate limit and retention. */
  readonly hold: Readonly<Record<string, string>>;
  readonly rateLimit: Readonly<Record<string, string>>;
  readonly retention: Readonly<Record<string, string>>;
}

/** The field of a job's hash with its earlier runs, as JSON. */
export const EARLIER_FIELD = 'notices:earlier';

const FIELDS = [
  'data',
  'timestamp',
  'atm',
  'stc',
  'processedOn',
  'finishedOn',
  'returnvalue',
  'failedReason',
  EARLIER_FIELD,
] as const;
type JobField = (typeof FIELDS)[number];

/** Lua: where a job is. The waiting list is not searched: it may be long, and a job that is nowhere else is in it. */
export const PLACE_OF_JOB = `
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

/** Lua: the fields of a job by the key of its hash. */
const FIELDS_OF_JOB = `
local function text(value) return value or '' end
local function fieldsOf(key)
  local fields = redis.call('HMGET', key, '${FIELDS.join("','")}')
  for at = 1, ${FIELDS.length} do fields[at] = text(fields[at]) end
  return fields
end
`;

/** Lua: what is stored of a job. */
const READ_JOB = `${FIELDS_OF_JOB}
local function readJob(one, intents, unknown)
  if not exists(one) then return { one, 'none', '', 0, '', {} } end
  local place, due = placeOf(one)
  return { one, place, text(due), redis.call('HEXISTS', intents, one),
    text(redis.call('HGET', unknown, one)), fieldsOf(jobs .. one) }
end
`;

/**
 * Reads those of the jobs that have failed, in their order, with one command for each and three for all.
 * KEYS: failed jobs, intents, unknown outcomes. ARGV: the prefix of BullMQ's keys, then the ids: 1 to 1,000.
 */
export const readFailedScript = defineScript<readonly StoredJob[]>({
  name: 'read failed jobs',
  keys: 3,
  lua: `
${FIELDS_OF_JOB}
local ids = { unpack(ARGV, 2) }
local failed = redis.call('ZMSCORE', KEYS[1], unpack(ids))
local intents, unknown = redis.call('HMGET', KEYS[2], unpack(ids)), redis.call('HMGET', KEYS[3], unpack(ids))
local read = {}
for at, id in ipairs(ids) do
  local fields = failed[at] and fieldsOf(ARGV[1] .. id)
  -- The first field is the data: a job without it does not exist.
  if fields and fields[1] ~= '' then
    read[#read + 1] = { id, 'failed', '', intents[at] and 1 or 0, text(unknown[at]), fields }
  end
end
return read`,
  parse: (reply) => (reply as readonly JobReply[]).map(storedJob),
});

/**
 * Reads a notice, its jobs from `first` on, and the state of the account, in one round trip.
 *
 * KEYS: hold, rate limit, retention, intents, unknown outcomes. ARGV: the prefix of BullMQ's keys, `id` or
 * `key`, the id or the hash of the key, the number of the first job, the most jobs.
 */
export const lookUpScript = defineScript<StoredNotice>({
  name: 'look up a notice',
  keys: 5,
  lua: `
local jobs = ARGV[1]
${JOBS_OF_NOTICE}${PLACE_OF_JOB}
${READ_JOB}
local id, total = find(ARGV[2], ARGV[3])
local read = {}
for index = tonumber(ARGV[4]), math.min(total, ARGV[4] + ARGV[5]) - 1 do
  read[#read + 1] = readJob(nth(id, index, total), KEYS[4], KEYS[5])
end
return { clock(), id, total, read, redis.call('HGETALL', KEYS[1]), redis.call('HGETALL', KEYS[2]),
  redis.call('HGETALL', KEYS[3]) }`,
  parse: (reply) => {
    const [now, id, total, jobs, hold, rateLimit, retention] = reply as Reply;
    return {
      now,
      id,
      total,
      jobs: jobs.map(storedJob),
      hold: recordOf(hold),
      rateLimit: recordOf(rateLimit),
      retention: recordOf(retention),
    };
  },
});

type JobReply = readonly [string, JobPlace, string, number, string, readonly string[]];
type Reply = readonly [
  number,
  string,
  number,
  readonly JobReply[],
  readonly string[],
  readonly string[],
  readonly string[],
];

/** BullMQ's score of a delayed job: its time, shifted to make room for a counter. */
const DELAYED_SHIFT = 4_096;

function storedJob([id, place, due, intent, listed, values]: JobReply): StoredJob {
  const found = FIELDS.flatMap((name, index) => {
    const value = values[index] ?? '';
    return value === '' ? [] : [[name, value] as const];
  });
  return {
    id,
    place,
    due: Math.floor(Number(due) / DELAYED_SHIFT),
    fields: Object.fromEntries(found),
    intentOpen: intent === 1,
    listed: listed === '' ? undefined : listed,
  };
}

function recordOf(flat: readonly string[]): Record<string, string> {
  const record: Record<string, string> = {};
  for (let at = 0; at + 1 < flat.length; at += 2) record[flat[at] ?? ''] = flat[at + 1] ?? '';
  return record;
}
