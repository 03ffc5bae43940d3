import { addressOf, type RedisClient, type RedisSettings } from '../redis/connect.ts';
import type { RedisFacts } from '../redis/facts.ts';
import { differingSettings, type DifferingSetting } from '../fleet/heartbeat.ts';
import { keysOf } from '../redis/keys.ts';
import { judgeRedis, type RedisFinding, type RedisRules } from '../redis/suitability.ts';
import { summarizeBatches, type BatchesSummary } from './batches-summary.ts';
import { headlineOf } from './answers/headline.ts';
import type { Headline } from './answers/list-headlines.ts';
import { explainHold, type ExplainedHold } from './manual-hold.ts';
import { FleetReader, type FleetSnapshot, type JobCounts } from './snapshot.ts';

/** The state of the account at one moment, as `notices status` and the API show it. */
export interface Status {
  /** When it was read: Redis time, milliseconds since the epoch. */
  readonly now: number;
  /** The worst thing that is true. */
  readonly headline: Headline;
  readonly account: string;
  /** REDIS_PREFIX */
  readonly prefix: string;
  /** Jobs of single notices; one job is one send request. */
  readonly jobs: Omit<JobCounts, 'completed'> & {
    /** Accepted jobs that are still kept (KEEP_ACCEPTED_MS). */
    readonly done: number;
  };
  /**
   * Milliseconds since the job that is taken next was due; absent where none waits. With priorities, others may have
   * waited longer.
   */
  readonly oldestWaitingMs?: number;
  /**
   * Contacts that were sent again although the service may have accepted an earlier request, since the
   * account exists: at most so many acceptances in the record of the service are duplicates.
   */
  readonly possiblySentTwice: FleetSnapshot['possiblySentTwice'];
  readonly batches: BatchesSummary;
  /** What waits for its next attempt after a failed one: the first of it; absent where nothing does. */
  readonly retrying?: NonNullable<FleetSnapshot['retrying']>;
  /** Outcomes for a person to decide: single notices, and contacts of batches. */
  readonly unknown: { readonly notices: number; readonly contacts: number };
  readonly hold?: ExplainedHold;
  /** Templates whose notices and lists wait while others are sent. */
  readonly templateHolds: FleetSnapshot['templateHolds'];
  /** SEND_WINDOWS of the workers; empty without it. */
  readonly sendWindows: string;
  /** Absent where no rate limit is or was in force. */
  readonly rateLimit?: NonNullable<FleetSnapshot['rateLimit']>;
  /** Absent where no worker runs: its key pair names the token. */
  readonly token?: NonNullable<FleetSnapshot['token']>;
  readonly workers: FleetSnapshot['workers'];
  /** Variables in which they differ. */
  readonly differing: readonly DifferingSetting[];
  readonly redis: RedisFacts & {
    /** Host and port; several where Redis has several. No user and no password. */
    readonly address: string;
    readonly findings: readonly RedisFinding[];
  };
}

/** Which account is read, and how. */
export interface StatusTarget {
  readonly redis: RedisSettings & { readonly prefix: string };
  readonly account: string;
  /** The configured rate limit of this process, shown until a worker has reported its own. Default 0. */
  readonly rateLimit?: number;
  /** What Redis is judged by. */
  readonly redisRules: RedisRules;
}

/** Reads the status over an open connection. @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED */
export async function readStatus(redis: RedisClient, target: StatusTarget): Promise<Status> {
  const { redis: settings, account, rateLimit } = target;
  const keys = keysOf(settings.prefix, account);
  const reader = new FleetReader({ redis, keys, rateLimit });
  try {
    return await statusOf(reader, target);
  } finally {
    await reader.close();
  }
}

/**
 * Reads the status through a reader that is open already.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function statusOf(
  reader: FleetReader,
  { account, redisRules, redis: settings }: Pick<StatusTarget, 'account' | 'redis' | 'redisRules'>,
): Promise<Status> {
  const snapshot = await reader.read(
    'noticeJobs',
    'noticeWaitingSince',
    'possiblySentTwice',
    'newestBatches',
    'unsentContacts',
    'unknownContacts',
    'unknownNotices',
    'retrying',
    'hold',
    'templateHolds',
    'sendWindows',
    'rateLimit',
    'token',
    'workers',
    'now',
    'redis',
  );
  const {
    noticeJobs,
    noticeWaitingSince,
    possiblySentTwice,
    newestBatches,
    unsentContacts,
    unknownContacts,
    unknownNotices,
    retrying,
    hold,
    templateHolds,
    sendWindows,
    rateLimit,
    token,
    workers,
    now,
    redis,
  } = snapshot;
  const { completed, ...jobs } = noticeJobs;
  const ofAll = { pending: unsentContacts, unknown: unknownContacts };
  const batches = await summarizeBatches(reader.ledger, newestBatches, ofAll, snapshot);
  const status = {
    now,
    account,
    prefix: settings.prefix,
    jobs: { ...jobs, done: completed },
    ...(noticeWaitingSince === undefined
      ? {}
      : { oldestWaitingMs: Math.max(0, Date.now() - noticeWaitingSince) }),
    possiblySentTwice,
    batches,
    unknown: { notices: unknownNotices, contacts: batches.unknown },
    ...(retrying === undefined ? {} : { retrying }),
    ...(hold === undefined ? {} : { hold: explainHold(hold) }),
    templateHolds,
    sendWindows,
    ...(rateLimit === undefined ? {} : { rateLimit }),
    ...(token === undefined ? {} : { token }),
    workers,
    differing: differingSettings(workers),
    redis: { ...redis, address: addressOf(settings), findings: judgeRedis(redis, redisRules) },
  };
  return { headline: headlineOf(status), ...status };
}
