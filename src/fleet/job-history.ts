import * as z from 'zod';
import { newestTraceIds, type PossibleSends } from '../contracts/outcome.ts';
import type { RedisClient } from '../redis/connect.ts';
import { translated } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import type { TroubleHistory } from './hold/trouble.ts';

const troubleSchema = z.object({
  count: z.number(),
  contradicted: z.number(),
  at: z.number(),
  tokenId: z.string().optional(),
});

const unknownSchema = z.array(
  z.object({
    /** The worker's token for the lock of the job, which names the run: a repeated write is known by it. */
    run: z.string(),
    code: z.string(),
    /** Of the service, where it has answered. */
    traceId: z.string().optional(),
  }),
);

/** An attempt that ended unknown, and after which others follow. */
export type UnknownAttempt = z.output<typeof unknownSchema>[number];

/** What is remembered of a job in trouble, until it ends. */
export interface JobHistory {
  /** What it met that may have concerned others. */
  readonly trouble?: TroubleHistory | undefined;
  /** Its attempts that ended unknown, oldest first. */
  readonly unknown: readonly UnknownAttempt[];
}

export const NO_HISTORY: JobHistory = { unknown: [] };

/** Fields of the history of a job in the hash {@link Keys.history}. Its open intent is there, too (intents.ts). */
const historyFields = (job: string) =>
  ({ trouble: `trouble:${job}`, unknown: `unknown:${job}` }) as const;

/**
 * What the service may have accepted of a job: attempts that ended unknown, and those whose worker died. A worker that
 * dies in the moment after it has noted the end of an attempt makes two of it.
 */
export function possibleSends({ unknown }: JobHistory, stalls: number): PossibleSends {
  return {
    possiblySent: unknown.length + stalls,
    traceIds: newestTraceIds(unknown.flatMap(({ traceId = [] }) => traceId)),
  };
}

/**
 * Reads the two fields of a history. What cannot be read counts as none.
 * @param texts trouble and unknown attempts as they are stored
 */
export function parseHistory([trouble, unknown]: readonly (
  string | null | undefined
)[]): JobHistory {
  return {
    trouble: parsed(troubleSchema, trouble),
    unknown: parsed(unknownSchema, unknown) ?? [],
  };
}

function parsed<Schema extends z.ZodType>(
  schema: Schema,
  text: string | null | undefined,
): z.output<Schema> | undefined {
  if (text === null || text === undefined || text === '') return undefined;
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** KEYS: the histories, the lock of the job. ARGV: token of the lock, field, the attempt as JSON. */
const noteUnknown = defineScript({
  name: 'note an unknown attempt',
  keys: 2,
  lua: `
local lock = redis.call('GET', KEYS[2])
if lock and lock ~= ARGV[1] then return 0 end
local kept = redis.call('HGET', KEYS[1], ARGV[2])
local attempts = kept and cjson.decode(kept) or {}
local last = attempts[#attempts]
if last and last.run == ARGV[1] then return 1 end
attempts[#attempts + 1] = cjson.decode(ARGV[3])
alsoWhenFull()
redis.call('HSET', KEYS[1], ARGV[2], cjson.encode(attempts))
return 1`,
  parse: (reply: unknown) => reply === 1,
});

/**
 * The histories of jobs in trouble, in one hash. Written where there is something to remember, read by runs that are not
 * the first, removed at the end of the job.
 */
export class JobHistories {
  readonly #redis: RedisClient;
  readonly #keys: Pick<Keys, 'history' | 'noticeLock'>;

  constructor(redis: RedisClient, keys: Pick<Keys, 'history' | 'noticeLock'>) {
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
  async noteUnknown(job: string, attempt: UnknownAttempt): Promise<void> {
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
}
