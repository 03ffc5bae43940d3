import type { Sealing } from '../payload/seal.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { NO_HISTORY, parseHistory, type JobHistory } from '../fleet/job-history.ts';
import { defineScript } from '../redis/script.ts';
import { EARLIER_FIELD, FIND_JOB } from './job-lua.ts';
import type { RefArguments } from './notice-ref.ts';

/** Where stored notices are read. */
export interface NoticeSource {
  readonly redis: RedisClient;
  readonly keys: Keys;
  /** Decrypts; without it encrypted contacts cannot be read. */
  readonly sealing?: Sealing | undefined;
}

/** Where BullMQ has a job. */
export type JobPlace =
  'completed' | 'failed' | 'delayed' | 'prioritized' | 'active' | 'wait' | 'none';

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

/** One job as Redis has it: texts as they are stored. */
export interface StoredJob {
  readonly id: string;
  readonly place: JobPlace;
  /** When a delayed job is due: milliseconds since the epoch; 0 for others. */
  readonly due: number;
  /** Fields of the job, by their names in Redis. */
  readonly fields: Readonly<Partial<Record<(typeof FIELDS)[number], string>>>;
  /** What is remembered of it; nothing where it has ended. */
  readonly history: JobHistory;
  /** An at-most-once attempt at it was started and has no known end. */
  readonly intentOpen: boolean;
  /** Its entry in the list of unknown outcomes: JSON. */
  readonly listed: string | undefined;
}

/** The state of the account at the moment of a look-up: the hashes of hold, rate limit and retention. */
export interface StoredAccount {
  /** Redis time, milliseconds since the epoch. */
  readonly now: number;
  readonly hold: Readonly<Record<string, string>>;
  readonly rateLimit: Readonly<Record<string, string>>;
  readonly retention: Readonly<Record<string, string>>;
}

/** One job, at one moment; undefined where it is not kept. @throws ScriptFailure */
export async function readJob(source: NoticeSource, id: string): Promise<StoredJob | undefined> {
  const [job] = await readNoticeJob(source, { mode: 'id', text: id });
  return job.place === 'none' ? undefined : job;
}

/** A job, and the state of the account at the same moment. @throws ScriptFailure */
export function readNoticeJob({ redis, keys }: NoticeSource, { mode, text }: RefArguments) {
  const { hold, rateLimit, retention, history, intents } = keys;
  const from = [hold, rateLimit, retention, history, intents.unknown];
  return lookUpScript(redis, from, [keys.noticeJob(''), mode, text]);
}

const FIELDS_OF_JOB = `
local function text(value) return value or '' end
local function fieldsOf(key)
  local fields = redis.call('HMGET', key, '${FIELDS.join("','")}')
  for at = 1, ${FIELDS.length} do fields[at] = text(fields[at]) end
  return fields
end
`;

/**
 * KEYS: hold, rate limit, retention, histories of jobs, unknown outcomes. ARGV: the prefix of BullMQ's keys, `id` or `key`, the id
 * or the hash of the key.
 */
const lookUpScript = defineScript<readonly [StoredJob, StoredAccount]>({
  name: 'look up a notice',
  keys: 5,
  lua: `
local jobs = ARGV[1]
${FIND_JOB}${FIELDS_OF_JOB}
local id = idOf(ARGV[2], ARGV[3])
local job = { id, 'none', '', 0, '', {}, '' }
if exists(id) then
  local place, due = placeOf(id)
  job = { id, place, text(due), redis.call('HEXISTS', KEYS[4], 'intent:' .. id), text(redis.call('HGET', KEYS[5], id)),
    fieldsOf(jobs .. id), text(redis.call('HGET', KEYS[4], 'unknown:' .. id)) }
end
return { job, clock(), redis.call('HGETALL', KEYS[1]), redis.call('HGETALL', KEYS[2]),
  redis.call('HGETALL', KEYS[3]) }`,
  parse: (reply) => {
    const [job, now, hold, rateLimit, retention] = reply as readonly [
      JobReply,
      number,
      ...(readonly string[])[],
    ];
    const account = {
      now,
      hold: recordOf(hold),
      rateLimit: recordOf(rateLimit),
      retention: recordOf(retention),
    };
    return [storedJob(job), account];
  },
});

/**
 * Reads those of the jobs that have failed, in their order, with one command for each and three for all.
 * KEYS: failed jobs, histories of jobs, unknown outcomes. ARGV: the prefix of BullMQ's keys, then the ids: 1 to 1,000.
 */
export const readFailedScript = defineScript<readonly StoredJob[]>({
  name: 'read failed jobs',
  keys: 3,
  lua: `
${FIELDS_OF_JOB}
local ids = { unpack(ARGV, 2) }
local failed = redis.call('ZMSCORE', KEYS[1], unpack(ids))
local intents = {}
for at, id in ipairs(ids) do intents[at] = 'intent:' .. id end
intents = redis.call('HMGET', KEYS[2], unpack(intents))
local unknown = redis.call('HMGET', KEYS[3], unpack(ids))
local read = {}
for at, id in ipairs(ids) do
  local fields = failed[at] and fieldsOf(ARGV[1] .. id)
  -- The first field is the data: a job without it does not exist.
  if fields and fields[1] ~= '' then
    read[#read + 1] = { id, 'failed', '', intents[at] and 1 or 0, text(unknown[at]), fields, '' }
  end
end
return read`,
  parse: (reply) => (reply as readonly JobReply[]).map(storedJob),
});

type JobReply = readonly [string, JobPlace, string, number, string, readonly string[], string];

/** BullMQ's score of a delayed job: its time, shifted to make room for a counter. */
const DELAYED_SHIFT = 4_096;

function storedJob([id, place, due, intent, listed, values, unknown]: JobReply): StoredJob {
  const found = FIELDS.flatMap((name, index) => {
    const value = values[index] ?? '';
    return value === '' ? [] : [[name, value] as const];
  });
  return {
    id,
    place,
    due: Math.floor(Number(due) / DELAYED_SHIFT),
    fields: Object.fromEntries(found),
    history:
      place === 'completed' || place === 'failed' ? NO_HISTORY : parseHistory([undefined, unknown]),
    intentOpen: intent === 1,
    listed: listed === '' ? undefined : listed,
  };
}

function recordOf(flat: readonly string[] = []): Record<string, string> {
  const record: Record<string, string> = {};
  for (let at = 0; at + 1 < flat.length; at += 2) record[flat[at] ?? ''] = flat[at + 1] ?? '';
  return record;
}
