import type { Hold } from '../contracts/hold.ts';
import type { Sealing } from '../payload/seal.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { parseHold } from '../fleet/hold/holds.ts';
import { NO_HISTORY, parseHistory, type JobHistory } from '../fleet/job-history.ts';
import { defineScript } from '../redis/script.ts';
import { recordOf } from '../redis/stored-json.ts';
import { parseEnded, type EndedNotice } from './ended.ts';
import { FIND_JOB } from './job-lua.ts';
import type { RefArguments } from './notice-ref.ts';
import { DELAYED_SHIFT } from './waiting.ts';

export interface NoticeSource {
  readonly redis: RedisClient;
  readonly keys: Keys;
  /** Decrypts; without it encrypted contacts cannot be read. */
  readonly sealing?: Sealing | undefined;
}

const FIELDS = [
  'data',
  'timestamp',
  'atm',
  'stc',
  'processedOn',
  'finishedOn',
  'returnvalue',
  'failedReason',
] as const;

/** One job as Redis has it: texts as they are stored. */
export interface StoredJob {
  readonly id: string;
  readonly place: 'completed' | 'failed' | 'delayed' | 'prioritized' | 'active' | 'wait' | 'none';
  /** When a delayed job is due: milliseconds since the epoch; 0 for others. */
  readonly due: number;
  readonly fields: Readonly<Partial<Record<(typeof FIELDS)[number], string>>>;
  /** What is remembered of it; nothing where it has ended. */
  readonly history: JobHistory;
  /** An at-most-once attempt at it was started and has no known end. */
  readonly intentOpen: boolean;
  readonly ended: EndedNotice | undefined;
}

/** The state of the account at the moment of a look-up: its hold, and the hashes of rate limit and retention. */
export interface StoredAccount {
  /** Redis time, milliseconds since the epoch. */
  readonly now: number;
  readonly hold: Hold | undefined;
  readonly rateLimit: Readonly<Record<string, string>>;
  readonly retention: Readonly<Record<string, string>>;
}

/** A job, and the state of the account at the same moment. @throws ScriptFailure */
export function readNoticeJob({ redis, keys }: NoticeSource, { mode, text }: RefArguments) {
  const { hold, rateLimit, account, history, ended } = keys;
  const from = [hold, rateLimit, account, history, ended, keys.endedIn('again')];
  return lookUpScript(redis, from, [keys.noticeJob(''), mode, text]);
}

/**
 * A notice whose end is recorded has ended, also while BullMQ still has its job; one that is being put back into the queue
 * has not, once it has a job again.
 *
 * KEYS: hold, rate limit, account, histories of jobs, notices that were not accepted, those that are being put back.
 * ARGV: the prefix of BullMQ's keys, `id` or `key`, the id or the hash of the key.
 */
const lookUpScript = defineScript<readonly [StoredJob, StoredAccount]>({
  name: 'look up a notice',
  lua: `
local jobs = ARGV[1]
${FIND_JOB}
local id = idOf(ARGV[2], ARGV[3])
local job, ended = { id, 'none' }, false
if exists(id) then
  local place, due = placeOf(id)
  job = { id, place, due or false, redis.call('HEXISTS', KEYS[4], 'intent:' .. id),
    redis.call('HGET', KEYS[4], 'unknown:' .. id), redis.call('HMGET', jobs .. id, '${FIELDS.join("','")}') }
end
if job[2] == 'none' or not redis.call('ZSCORE', KEYS[6], id) then ended = redis.call('HGET', KEYS[5], id) end
return { job, ended, clock(), redis.call('HGET', KEYS[1], 'queue'),
  redis.call('HGETALL', KEYS[2]), redis.call('HGETALL', KEYS[3]) }`,
  parse: (reply) => {
    const [job, ended, now, hold, rateLimit, retention] = reply as readonly [
      JobReply,
      string | null,
      number,
      string | null,
      ...(readonly string[])[],
    ];
    const account = {
      now,
      hold: parseHold(hold),
      rateLimit: recordOf(rateLimit),
      retention: recordOf(retention),
    };
    return [storedJob(job, ended), account];
  },
});

type JobReply = readonly [
  id: string,
  place: StoredJob['place'],
  due?: string | null,
  intent?: number,
  unknown?: string | null,
  fields?: readonly (string | null)[],
];

function storedJob(
  [id, place, due, intent, unknown, values = []]: JobReply,
  ended: string | null,
): StoredJob {
  const hasEnded = place === 'completed' || place === 'failed';
  return {
    id,
    place,
    due: Math.floor(Number(due ?? 0) / DELAYED_SHIFT),
    fields: Object.fromEntries(
      FIELDS.flatMap((name, index) => (values[index] ? [[name, values[index]]] : [])),
    ),
    history: hasEnded ? NO_HISTORY : parseHistory([undefined, unknown]),
    intentOpen: intent === 1,
    ended: parseEnded(id, ended),
  };
}
