import * as z from 'zod';
import { unknownAttempt } from '../contracts/answer.ts';
import { MOST_KEPT, newestTraceIds, type PossibleSends } from '../contracts/outcome.ts';
import type { RedisClient } from '../redis/connect.ts';
import { translated } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { defineScript, type Script } from '../redis/script.ts';
import { storedJson } from '../redis/stored-json.ts';
import type { TroubleHistory } from './hold/trouble.ts';

const troubleSchema = z.object({
  code: z.string(),
  contradicted: z.number(),
  at: z.number(),
  tokenId: z.string().optional(),
});

/** What is stored of an attempt and cannot be read. */
const UNREADABLE = { at: 0, code: '', run: '' };

const unknownSchema = z.array(
  unknownAttempt
    .extend({
      /** The worker's token for the lock of the job, which names the run: a repeated write is known by it. */
      run: z.string(),
    })
    .catch(UNREADABLE),
);

export type UnknownAttempt = z.output<typeof unknownSchema>[number];

/** What is remembered of a job in trouble, until it ends. */
export interface JobHistory {
  /** What it met that may have concerned others. */
  readonly trouble?: TroubleHistory | undefined;
  /** Its attempts that ended unknown, oldest first. */
  readonly unknown: readonly UnknownAttempt[];
}

export const NO_HISTORY: JobHistory = { unknown: [] };

/** Fields of the history of a job in the hash {@link Keys.history}. Its open intent is there, too. */
const historyFields = (job: string) =>
  ({ trouble: `trouble:${job}`, unknown: `unknown:${job}` }) as const;

/**
 * What the service may have accepted of a job: attempts that ended unknown, and those whose worker died. A worker that
 * dies in the moment after it has noted the end of an attempt makes two of it.
 */
export function possibleSends({ unknown }: JobHistory, stalls: number): PossibleSends {
  const known = unknown.filter(({ at }) => at > 0);
  return {
    possiblySent: unknown.length + stalls,
    traceIds: newestTraceIds(unknown.flatMap(({ traceId = [] }) => traceId)),
    ...(known.length === 0
      ? {}
      : { unknownAttempts: known.slice(-MOST_KEPT).map((one) => unknownAttempt.parse(one)) }),
  };
}

/**
 * Reads the two fields of a history. Trouble that cannot be read counts as none, and unknown attempts as one.
 * @param texts trouble and unknown attempts as they are stored
 */
export function parseHistory([trouble, unknown]: readonly (
  string | null | undefined
)[]): JobHistory {
  return {
    trouble: storedJson(troubleSchema, trouble),
    unknown: storedJson(unknownSchema, unknown) ?? (unknown ? [UNREADABLE] : []),
  };
}

/** KEYS: the histories, the lock of the job. ARGV: token of the lock, field, the attempt as JSON. */
const noteUnknown = defineScript({
  name: 'note an unknown attempt',
  lua: `
local lock = redis.call('GET', KEYS[2])
if lock and lock ~= ARGV[1] then return 0 end
local attempts = jsonOf(redis.call('HGET', KEYS[1], ARGV[2]) or '[]') or { {} }
local last = attempts[#attempts]
if type(last) == 'table' and last.run == ARGV[1] then return 1 end
local attempt = cjson.decode(ARGV[3])
attempt.at = clock()
attempts[#attempts + 1] = attempt
alsoWhenFull()
redis.call('HSET', KEYS[1], ARGV[2], cjson.encode(attempts))
return 1`,
  parse: (reply: unknown) => reply === 1,
});

/**
 * What an attempt may do:
 *
 * - `send`: its intent is recorded.
 * - `lost`: another worker has the job.
 * - `unknown`: an earlier attempt has no known end; the service may have taken its request.
 * - `accepted`: an earlier attempt was accepted, and its worker died before BullMQ recorded it.
 */
export type IntentVerdict = 'send' | 'lost' | 'unknown' | 'accepted';

/**
 * The transitions of intents ({@link JobHistories}), one script each.
 *
 * KEYS of all: the histories of jobs, the accepted intents, the notices that were not accepted. ARGV of all: the prefix of
 * the keys of BullMQ's jobs, the id of the job, the nonce of the attempt, and what is specific to the script.
 * All keys share one hash tag, including those of the jobs and their locks.
 */
const INTENT_PRELUDE = `
local history, accepted, ended = KEYS[1], KEYS[2], KEYS[3]
local jobs, job, nonce = ARGV[1], ARGV[2], ARGV[3]
local kept = redis.call('HGET', history, 'intent:' .. job)
-- One that cannot be read may be of any attempt.
local intent = kept and (jsonOf(kept) or {})
local function write(value) redis.call('HSET', history, 'intent:' .. job, cjson.encode(value)) end
-- BullMQ has recorded the end of the job, or the job no longer exists.
local function isOver(id)
  return redis.call('EXISTS', jobs .. id) == 0 or redis.call('HGET', jobs .. id, 'finishedOn')
end
alsoWhenFull()
`;

/**
 * Opens the intent right before the first request of an attempt. ARGV: the worker's token of the job's lock, the worker.
 * A repetition by the same attempt gets the same answer: a connection that is reopened repeats its commands.
 */
export const beginIntent = defineScript<IntentVerdict>({
  name: 'begin an intent',
  lua: `${INTENT_PRELUDE}
if redis.call('GET', jobs .. job .. ':lock') ~= ARGV[4] then return 'lost' end
if intent and intent.accepted then return 'accepted' end
if intent then return intent.nonce == nonce and 'send' or 'unknown' end
write({ nonce = nonce, at = clock(), worker = ARGV[5] })
return 'send'`,
  parse: (reply) => reply as IntentVerdict,
});

/**
 * Records the known end of an attempt after which the notice waits, or is accepted. ARGV: 'accepted', or 'back' when the
 * service did not take the request. An accepted intent stays until BullMQ has recorded the end of the job, so that
 * nothing is sent twice when the worker dies in between; each such end removes up to two earlier ones.
 */
export const endIntent = defineScript({
  name: 'end an intent',
  lua: `${INTENT_PRELUDE}
if not intent or intent.nonce ~= nonce then
  -- Another run has ended the notice as unknown meanwhile: the person who decides sees this stage.
  local entry = jsonOf(redis.call('HGET', ended, job))
  if entry and entry.nonce == nonce and entry.state == 'unknown' and ARGV[4] == 'accepted' then
    entry.stage = 'accepted'
    redis.call('HSET', ended, job, cjson.encode(entry))
  end
  return 0
end
if ARGV[4] ~= 'accepted' then
  redis.call('HDEL', history, 'intent:' .. job)
  return 1
end
intent.accepted = true
write(intent)
local now = clock()
for _, id in ipairs(redis.call('ZRANGE', accepted, 0, 1)) do
  if isOver(id) then
    redis.call('ZREM', accepted, id)
    redis.call('HDEL', history, 'intent:' .. id)
  else
    redis.call('ZADD', accepted, now, id)
  end
end
redis.call('ZADD', accepted, now, job)
return 1`,
});

type HistoryKeys = Pick<Keys, 'acceptedIntents' | 'ended' | 'history' | 'noticeJob' | 'noticeLock'>;

export interface IntentAttempt {
  readonly job: string;
  readonly nonce: string;
}

/**
 * The histories of jobs in trouble, in one hash. Written where there is something to remember, read by runs that are not
 * the first, removed at the end of the job.
 *
 * So are the intents of single notices with delivery at-most-once. A notice, identified by its job, is in one of these states:
 *
 * - idle: nothing is recorded. idle -> open: {@link beginIntent}, right before the request.
 * - open: a request may be in progress. open -> idle: {@link endIntent} with `back`, the service did not take it, or the
 *   record of the end of the notice (src/notices/end-scripts.ts), by the attempt itself or by the next run, which finds that
 *   the earlier one never ended. open -> accepted: {@link endIntent}.
 * - accepted: nothing is sent any more; removed once BullMQ has recorded the end of the job.
 *
 * The methods about intents throw NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED.
 */
export class JobHistories {
  readonly #redis: RedisClient;
  readonly #keys: HistoryKeys;

  constructor(redis: RedisClient, keys: HistoryKeys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  async read(job: string): Promise<JobHistory> {
    const { trouble, unknown } = historyFields(job);
    return parseHistory(await this.#redis.hmget(this.#keys.history, trouble, unknown));
  }

  async writeTrouble(job: string, trouble: TroubleHistory): Promise<void> {
    await this.#redis.hset(this.#keys.history, historyFields(job).trouble, JSON.stringify(trouble));
  }

  /** Notes an attempt at a single notice, unless another run has the lock: then the stall counts. Safe to repeat. */
  async noteUnknown(job: string, attempt: Omit<UnknownAttempt, 'at'>): Promise<void> {
    const { history, noticeLock } = this.#keys;
    const args = [attempt.run, historyFields(job).unknown, JSON.stringify(attempt)];
    await translated(noteUnknown(this.#redis, [history, noticeLock(job)], args));
  }

  async forget(job: string): Promise<void> {
    const { trouble, unknown } = historyFields(job);
    await this.#redis.hdel(this.#keys.history, trouble, unknown);
  }

  async forgetTrouble(job: string): Promise<void> {
    await this.#redis.hdel(this.#keys.history, historyFields(job).trouble);
  }

  /**
   * Opens the intent of an attempt.
   * @param lockToken the worker's token of the job's lock
   * @param worker id of the worker, for debugging
   */
  beginIntent(attempt: IntentAttempt, lockToken: string, worker: string): Promise<IntentVerdict> {
    const { job, nonce } = attempt;
    return this.#run(beginIntent, [job, nonce, lockToken, worker]);
  }

  /** Records the end of an attempt. Safe to repeat. */
  async endIntent({ job, nonce }: IntentAttempt, as: 'accepted' | 'back'): Promise<void> {
    await this.#run(endIntent, [job, nonce, as]);
  }

  /** Whether an attempt was started that has no known end. */
  async hasOpenIntent(job: string): Promise<boolean> {
    return (await translated(this.#redis.hexists(this.#keys.history, `intent:${job}`))) === 1;
  }

  async #run<Answer>(script: Script<Answer>, args: readonly string[]): Promise<Answer> {
    const { history, acceptedIntents, ended } = this.#keys;
    const jobs = this.#keys.noticeJob('');
    return translated(script(this.#redis, [history, acceptedIntents, ended], [jobs, ...args]));
  }
}
