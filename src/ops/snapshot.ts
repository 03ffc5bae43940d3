import type { Job, Queue } from 'bullmq';
import type { Batch } from '../batch/ledger/batch-record.ts';
import { Ledger } from '../batch/ledger/ledger.ts';
import { warningMs } from '../batch/ledger/retention.ts';
import type { Hold } from '../contracts/hold.ts';
import { failureOf } from '../contracts/outcome.ts';
import { waitsSince } from '../contracts/job.ts';
import type { NewestBatches } from './batches-summary.ts';
import type { LaneName } from '../contracts/outcome.ts';
import { readWorkers, type SeenWorker } from '../fleet/heartbeat.ts';
import { readHold } from '../fleet/hold/hold-scripts.ts';
import { readTemplateHolds, type TemplateHold } from '../fleet/hold/template-hold.ts';
import { readPossiblySentTwice, type PossiblySentTwice } from '../fleet/possibly-sent-twice.ts';
import { readRateLimit, type RateLimitStatus } from '../fleet/rate-limit/rate-limit-state.ts';
import { countEnded } from '../notices/ended.ts';
import { FAILED_NOTICE_STATES } from '../notices/select-ended.ts';
import type { RedisClient } from '../redis/connect.ts';
import { readRedisFacts, type RedisFacts } from '../redis/facts.ts';
import { redisFailure } from '../redis/failure.ts';
import { CHUNK_QUEUE_NAME, QUEUE_NAME, type Keys } from '../redis/keys.ts';
import { openBullQueue } from '../redis/open-queue.ts';
import { redisTime } from '../redis/server-clock.ts';
import { readTokenStatus, type TokenStatus } from '../token/token-status.ts';

/** Jobs of one queue by state. */
export interface JobCounts {
  /** Can be taken now. */
  readonly waiting: number;
  readonly active: number;
  /** Wait for their time or their next attempt. */
  readonly delayed: number;
  /** Accepted, and still kept (KEEP_ACCEPTED_MS). */
  readonly completed: number;
  /** Rejected or unknown, and still kept (KEEP_FAILED_MS). */
  readonly failed: number;
}

/** Notices and chunks that wait for their next attempt. */
export interface Retrying {
  /** How many, of the {@link NEXT_READ} of each lane that are due next. */
  readonly notices: number;
  readonly chunks: number;
  /** The code of the one that is due next. */
  readonly code: string;
}

/** The state of one account in Redis. Times are milliseconds since the epoch. */
export interface FleetSnapshot {
  /** Redis time. */
  readonly now: number;
  /** The hold in force; undefined where there is none. */
  readonly hold: Hold | undefined;
  /** The templates that are held. */
  readonly templateHolds: readonly TemplateHold[];
  /** SEND_WINDOWS of the worker that started last; empty without it. */
  readonly sendWindows: string;
  /** Live worker processes, in the order of their start. */
  readonly workers: readonly SeenWorker[];
  /** Undefined where no rate limit is or was in force. */
  readonly rateLimit: RateLimitStatus | undefined;
  /** Undefined where no worker runs: its key pair names the token. */
  readonly token: TokenStatus | undefined;
  readonly redis: RedisFacts;
  /** Jobs of single notices. */
  readonly noticeJobs: JobCounts;
  /** Jobs of chunks of batches. */
  readonly chunkJobs: JobCounts;
  /**
   * When the next single notice to be taken was due; undefined where none waits. Of jobs with a
   * priority, only the one that is taken next counts.
   */
  readonly noticeWaitingSince: number | undefined;
  /** The same for chunks. */
  readonly chunkWaitingSince: number | undefined;
  /** What waits for its next attempt after a failed one; undefined where nothing does. */
  readonly retrying: Retrying | undefined;
  /** Single notices whose outcome is unknown. */
  readonly unknownNotices: number;
  /** Contacts that were sent again after an unknown outcome, by lane. */
  readonly possiblySentTwice: PossiblySentTwice;
  /** The newest batches, up to {@link NEWEST_BATCHES}. */
  readonly batches: readonly Batch[];
  /** At most {@link SUMMARY_BATCHES} of them, and which of them are being imported. */
  readonly newestBatches: NewestBatches;
  /** Contacts of all batches whose outcome is unknown. */
  readonly unknownContacts: number;
  /** Contacts of batches that are stored and not sent yet. */
  readonly unsentContacts: number;
}

/** Batches that are read for a summary: a command each, and one for each whose list was not read to its end. */
const SUMMARY_BATCHES = 200;

/** Batches that are read for each scrape of the metrics: a command each. */
export const NEWEST_BATCHES = 500;

/** Name of a fact. */
export type FleetFact = keyof FleetSnapshot;

/** Which account is read, and over which connections. */
export interface FleetSource {
  readonly redis: RedisClient;
  readonly keys: Keys;
  /** BullMQ queues that are open already; those left out are opened when they are first needed. */
  readonly queues?: Readonly<Record<LaneName, Queue>> | undefined;
  /** The configured rate limit, shown until a worker has reported its own. Default 0: no limit. */
  readonly rateLimit?: number | undefined;
  /** Gets each error of Redis as it was thrown, before it is translated. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** How each fact is read. None scans; only workers and batches cost a command per element. */
const READERS: {
  readonly [Fact in FleetFact]: (reader: FleetAccess) => Promise<FleetSnapshot[Fact]>;
} = {
  now: async ({ redis }) => Math.floor(await redisTime(redis)),
  hold: ({ redis, keys }) => readHold(redis, keys),
  templateHolds: ({ redis, keys }) => readTemplateHolds(redis, keys),
  sendWindows: async ({ redis, keys }) => (await redis.hget(keys.retention, 'sendWindows')) ?? '',
  workers: ({ workers }) => workers(),
  rateLimit: ({ redis, keys, rateLimit = 0 }) => readRateLimit(redis, keys, rateLimit),
  token: async ({ redis, keys, workers }) => {
    const [worker] = await workers();
    return worker && readTokenStatus(redis, keys.token(worker.pair));
  },
  redis: ({ redis, keys }) => readRedisFacts(redis, keys),
  noticeJobs: async ({ queue, redis, keys }) => {
    const [counts, failed] = await Promise.all([
      countJobs(queue('notices')),
      countEnded(redis, keys, FAILED_NOTICE_STATES),
    ]);
    return { ...counts, failed: counts.failed + failed };
  },
  chunkJobs: ({ queue }) => countJobs(queue('chunks')),
  noticeWaitingSince: ({ queue }) => waitingSince(queue('notices')),
  chunkWaitingSince: ({ queue }) => waitingSince(queue('chunks')),
  retrying: ({ redis, keys }) => readRetrying(redis, keys),
  unknownNotices: ({ redis, keys }) => countEnded(redis, keys, ['unknown']),
  possiblySentTwice: ({ redis, keys }) => readPossiblySentTwice(redis, keys),
  batches: ({ ledger }) => ledger.list(NEWEST_BATCHES),
  newestBatches: ({ ledger }) => readNewest(ledger),
  unknownContacts: ({ ledger }) => ledger.unknownContacts(),
  unsentContacts: ({ ledger }) => ledger.unsent(),
};

/** What a reader of a fact gets. */
interface FleetAccess extends Omit<FleetSource, 'queues'> {
  readonly ledger: Ledger;
  readonly queue: (lane: LaneName) => Queue;
  /** The workers, which two facts need. */
  readonly workers: () => Promise<SeenWorker[]>;
}

/** Reads the state of one account. Status, metrics, alerts, doctor and pages all read through it. */
export class FleetReader {
  /** The batches of the account. */
  readonly ledger: Ledger;
  readonly #access: Omit<FleetAccess, 'workers'>;
  readonly #onError: (error: unknown) => void;
  readonly #opened = new Map<LaneName, Queue>();

  constructor({ queues, onError = () => {}, ...source }: FleetSource) {
    const { redis, keys } = source;
    this.#onError = onError;
    this.ledger = new Ledger(redis, keys);
    this.#access = {
      ...source,
      ledger: this.ledger,
      queue: (lane) => queues?.[lane] ?? this.#open(lane),
    };
  }

  /**
   * Reads the named facts at the same time, and no others.
   *
   * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED or TOKEN_UNAVAILABLE
   */
  async read<Fact extends FleetFact>(
    ...facts: readonly Fact[]
  ): Promise<Pick<FleetSnapshot, Fact>> {
    const { redis, keys } = this.#access;
    let seen: Promise<SeenWorker[]> | undefined;
    const access = { ...this.#access, workers: () => (seen ??= readWorkers(redis, keys)) };
    try {
      const values = await Promise.all(
        facts.map(async (fact) => [fact, await READERS[fact](access)] as const),
      );
      return Object.fromEntries(values) as Pick<FleetSnapshot, Fact>;
    } catch (error) {
      this.#onError(error);
      throw redisFailure(error);
    }
  }

  /** Closes the queues that it opened; the Redis client belongs to the caller. */
  async close(): Promise<void> {
    await Promise.all([...this.#opened.values()].map((queue) => queue.close().catch(() => {})));
  }

  #open(lane: LaneName): Queue {
    const found = this.#opened.get(lane);
    if (found !== undefined) return found;
    const { redis, keys } = this.#access;
    const name = lane === 'notices' ? QUEUE_NAME : CHUNK_QUEUE_NAME;
    const queue = openBullQueue(name, redis, keys);
    this.#opened.set(lane, queue);
    return queue;
  }
}

/** Delayed jobs that are read of each lane. */
const NEXT_READ = 20;

async function readRetrying(redis: RedisClient, keys: Keys): Promise<Retrying | undefined> {
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

async function readNewest(ledger: Ledger): Promise<NewestBatches> {
  const batches = await ledger.list(SUMMARY_BATCHES);
  const unread = batches.filter(
    ({ importedAt, phase }) => importedAt === 0 && phase !== 'cancelled',
  );
  const importing = await Promise.all(
    unread.map(async ({ id }) => ((await ledger.isImporting(id)) ? id : undefined)),
  );
  return { batches, importing: new Set(importing.filter((id) => id !== undefined)) };
}

async function countJobs(queue: Queue): Promise<JobCounts> {
  const counts = await queue.getJobCounts(
    'waiting',
    'prioritized',
    'active',
    'delayed',
    'completed',
    'failed',
  );
  const of = (state: string) => counts[state] ?? 0;
  return {
    waiting: of('waiting') + of('prioritized'),
    active: of('active'),
    delayed: of('delayed'),
    completed: of('completed'),
    failed: of('failed'),
  };
}

async function waitingSince(queue: Queue): Promise<number | undefined> {
  const next = await queue.getJobs(['waiting', 'prioritized'], 0, 0, true);
  // A job that was removed between the two reads of BullMQ is undefined.
  const found: readonly (Job | undefined)[] = next;
  return found
    .flatMap((job) => (job === undefined ? [] : [waitsSince(job)]))
    .sort((a, b) => a - b)[0];
}

/** Failed single notices that are about to be deleted, and until when the oldest is kept: milliseconds since the epoch. */
export interface NearFailedNotices {
  readonly count: number;
  readonly keptUntil: number;
}

/**
 * The failed single notices (rejected or unknown) that are about to be deleted; undefined for none.
 *
 * @param keepFailedMs KEEP_FAILED_MS
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function nearFailedNotices(
  redis: RedisClient,
  { endedIn }: Pick<Keys, 'endedIn'>,
  keepFailedMs: number,
  now: number,
): Promise<NearFailedNotices | undefined> {
  const soon = now - keepFailedMs + warningMs(keepFailedMs);
  try {
    const found = await Promise.all(
      FAILED_NOTICE_STATES.map(async (state) => {
        const [[, oldest], near] = await Promise.all([
          redis.zrange(endedIn(state), 0, '0', 'WITHSCORES'),
          redis.zcount(endedIn(state), '-inf', soon),
        ]);
        return { oldest: Number(oldest ?? Infinity), near };
      }),
    );
    const count = found.reduce((sum, { near }) => sum + near, 0);
    if (count === 0) return undefined;
    return { count, keptUntil: Math.min(...found.map(({ oldest }) => oldest)) + keepFailedMs };
  } catch (error) {
    throw redisFailure(error);
  }
}
