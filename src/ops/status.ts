import { Ledger } from '../batch/ledger/ledger.ts';
import { differingSettings } from '../fleet/heartbeat.ts';
import { addressOf, type RedisSettings } from '../redis/connect.ts';
import { judgeRedis, type RedisRules } from '../redis/suitability.ts';
import { explainHold, type Status } from './answers/account-schemas.ts';
import { headlineOf } from './answers/headline.ts';
import { summarizeBatches } from './batches-summary.ts';
import { readFleet, type FleetSource } from './snapshot.ts';

export type { Status };

/** What is shown of the account beside what is read, and what Redis is judged by. */
export interface StatusTarget {
  readonly redis: RedisSettings & { readonly prefix: string };
  readonly account: string;
  readonly redisRules: RedisRules;
}

/** Reads the status. */
export async function readStatus(
  source: FleetSource,
  { account, redisRules, redis: settings }: StatusTarget,
): Promise<Status> {
  const found = await readFleet(
    source,
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
  const { noticeWaitingSince: since, retrying, hold, rateLimit, token, workers, redis } = found;
  const { completed, ...jobs } = found.noticeJobs;
  const ofAll = { pending: found.unsentContacts, unknown: found.unknownContacts };
  const ledger = new Ledger(source.redis, source.keys);
  const batches = await summarizeBatches(ledger, found.newestBatches, ofAll, found);
  const status = {
    now: found.now,
    account,
    prefix: settings.prefix,
    jobs: { ...jobs, done: completed },
    ...(since === undefined ? {} : { oldestWaitingMs: Math.max(0, Date.now() - since) }),
    possiblySentTwice: found.possiblySentTwice,
    batches,
    unknown: { notices: found.unknownNotices, contacts: batches.unknown },
    ...(retrying === undefined ? {} : { retrying }),
    ...(hold === undefined ? {} : { hold: explainHold(hold) }),
    templateHolds: found.templateHolds,
    sendWindows: found.sendWindows,
    ...(rateLimit === undefined ? {} : { rateLimit }),
    ...(token === undefined ? {} : { token }),
    workers,
    differing: differingSettings(workers),
    redis: { ...redis, address: addressOf(settings), findings: judgeRedis(redis, redisRules) },
  };
  return { headline: headlineOf(status), ...status };
}
