import { Ledger } from '../batch/ledger/ledger.ts';
import { failureOf } from '../contracts/outcome.ts';
import { readWorkers, type SeenWorker } from '../fleet/heartbeat.ts';
import { readHold, readTemplateHolds } from '../fleet/hold/holds.ts';
import { readPossiblySentTwice } from '../fleet/possibly-sent-twice.ts';
import { readRateLimit } from '../fleet/rate-limit/rate-limit-state.ts';
import { countEnded } from '../notices/ended.ts';
import type { RedisClient } from '../redis/connect.ts';
import { readRedisFacts } from '../redis/facts.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { redisTime } from '../redis/server-clock.ts';
import { readTokenStatus } from '../token/token-status.ts';

/** Batches that are read for each scrape of the metrics: a command each. */
export const NEWEST_BATCHES = 500;

export interface FleetSource {
  readonly redis: RedisClient;
  readonly keys: Keys;
  /** The configured rate limit, shown until a worker has reported its own. Default 0: no limit. */
  readonly rateLimit?: number | undefined;
  /** Gets each error of Redis as it was thrown, before it is translated. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

interface FleetAccess extends FleetSource {
  readonly ledger: Ledger;
  /** The workers, which two facts need. */
  readonly workers: () => Promise<SeenWorker[]>;
}

/**
 * How each fact is read. None scans; only workers and batches cost a command per element. Times are those of Redis, in
 * milliseconds since the epoch.
 */
const READERS = {
  now: async ({ redis }) => Math.floor(await redisTime(redis)),
  hold: ({ redis, keys }) => readHold(redis, keys),
  templateHolds: ({ redis, keys }) => readTemplateHolds(redis, keys),
  /** SEND_WINDOWS of the worker that started last; empty without it. */
  sendWindows: async ({ redis, keys }) => (await redis.hget(keys.account, 'sendWindows')) ?? '',
  workers: ({ workers }) => workers(),
  /** Undefined where no rate limit is or was in force. */
  rateLimit: ({ redis, keys, rateLimit = 0 }) => readRateLimit(redis, keys, rateLimit),
  /** Undefined where no worker runs: its key pair names the token. */
  token: async ({ redis, keys, workers }) => {
    const [worker] = await workers();
    return worker && readTokenStatus(redis, keys.token(worker.pair));
  },
  redis: ({ redis }) => readRedisFacts(redis),
  noticeJobs: async ({ redis, keys }) => {
    const [counts, rejected] = await Promise.all([
      countJobs(redis, keys.noticeJob),
      countEnded(redis, keys, ['rejected']),
    ]);
    return { ...counts, failed: counts.failed + rejected };
  },
  chunkJobs: ({ redis, keys }) => countJobs(redis, keys.chunkJob),
  /** When the next one to be taken was due; with priorities, others may have waited longer. */
  noticeWaitingSince: ({ redis, keys }) => waitingSince(redis, keys.noticeJob),
  chunkWaitingSince: ({ redis, keys }) => waitingSince(redis, keys.chunkJob),
  retrying: ({ redis, keys }) => readRetrying(redis, keys),
  unknownNotices: ({ redis, keys }) => countEnded(redis, keys, ['unknown']),
  possiblySentTwice: ({ redis, keys }) => readPossiblySentTwice(redis, keys),
  batches: ({ ledger }) => ledger.list(NEWEST_BATCHES),
  /** Contacts of all batches whose outcome is unknown. */
  unknownContacts: ({ ledger }) => ledger.unknownContacts(),
  /** Contacts of all batches that are stored and not sent yet. */
  unsentContacts: ({ ledger }) => ledger.unsent(),
} as const satisfies Readonly<Record<string, (access: FleetAccess) => Promise<unknown>>>;

export type FleetFact = keyof typeof READERS;

export type FleetSnapshot = {
  readonly [Fact in FleetFact]: Awaited<ReturnType<(typeof READERS)[Fact]>>;
};

/**
 * Reads the named facts of an account at the same time, and no others. Status, metrics, watch and doctor all read
 * through it.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED or TOKEN_UNAVAILABLE
 */
export async function readFleet<Fact extends FleetFact>(
  source: FleetSource,
  ...facts: readonly Fact[]
): Promise<Pick<FleetSnapshot, Fact>> {
  const { redis, keys, onError } = source;
  let seen: Promise<SeenWorker[]> | undefined;
  const workers = () => (seen ??= readWorkers(redis, keys));
  const access = { ...source, ledger: new Ledger(redis, keys), workers };
  try {
    const values = await Promise.all(
      facts.map(async (fact) => [fact, await READERS[fact](access)] as const),
    );
    return Object.fromEntries(values) as Pick<FleetSnapshot, Fact>;
  } catch (error) {
    onError?.(error);
    throw redisFailure(error);
  }
}

/** Reads what the watch of events judges. */
export const readWatched = (source: FleetSource) =>
  readFleet(
    source,
    'now',
    'hold',
    'templateHolds',
    'workers',
    'noticeJobs',
    'chunkJobs',
    'noticeWaitingSince',
    'unknownNotices',
    'unknownContacts',
    'redis',
  );

/** Delayed jobs that are read of each lane. */
const NEXT_READ = 20;

/** What waits for its next attempt, and the code of the one that is due next. */
async function readRetrying(redis: RedisClient, keys: Keys) {
  const codesOf = async (place: string, keyOf: (id: string) => string) => {
    const ids = await redis.zrange(place, '0', String(NEXT_READ - 1));
    const jobs = await Promise.all(ids.map((id) => redis.hmget(keyOf(id), 'atm', 'failedReason')));
    return jobs.flatMap(([attempts, reason]) =>
      Number(attempts ?? 0) > 0 && typeof reason === 'string' ? [failureOf(reason).code] : [],
    );
  };
  const [notices, chunks] = await Promise.all([
    codesOf(keys.noticesIn('delayed'), (id) => keys.noticeJob(id)),
    codesOf(keys.delayedChunks, (id) => keys.chunkJob(id)),
  ]);
  const [code] = [...notices, ...chunks];
  return code === undefined ? undefined : { notices: notices.length, chunks: chunks.length, code };
}

/** `done` and `failed` are those that are still kept. @param keyOf the key of a state of a queue, or of a job of it */
async function countJobs(redis: RedisClient, keyOf: (name: string) => string) {
  const [wait, paused, active, prioritized, delayed, done, failed] = await Promise.all([
    redis.llen(keyOf('wait')),
    redis.llen(keyOf('paused')),
    redis.llen(keyOf('active')),
    redis.zcard(keyOf('prioritized')),
    redis.zcard(keyOf('delayed')),
    redis.zcard(keyOf('completed')),
    redis.zcard(keyOf('failed')),
  ]);
  return { waiting: wait + paused + prioritized, active, delayed, done, failed };
}

async function waitingSince(
  redis: RedisClient,
  keyOf: (name: string) => string,
): Promise<number | undefined> {
  const next = await Promise.all([
    redis.lrange(keyOf('wait'), -1, -1),
    redis.lrange(keyOf('paused'), -1, -1),
    redis.zrange(keyOf('prioritized'), 0, '0'),
  ]);
  const times = await Promise.all(
    next.flat().map(async (id) => {
      const [timestamp, opts] = await redis.hmget(keyOf(id), 'timestamp', 'opts');
      return typeof timestamp === 'string' ? [Number(timestamp) + delayOf(opts)] : [];
    }),
  );
  return times.flat().sort((a, b) => a - b)[0];
}

/** How long a job waits for its first attempt. BullMQ's field `delay` is the wait for the next one. */
function delayOf(opts: string | null | undefined): number {
  try {
    return Number((JSON.parse(opts ?? '{}') as { delay?: unknown }).delay ?? 0);
  } catch {
    return 0;
  }
}
