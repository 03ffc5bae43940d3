import { groupFailures, type GroupSource } from '../batch/failures/failures.ts';
import { continueImport, readMotion, type SendingFleet } from '../batch/ledger/batch-motion.ts';
import type { Batch } from '../batch/ledger/batch-record.ts';
import { Ledger } from '../batch/ledger/ledger.ts';
import { differingSettings } from '../fleet/heartbeat.ts';
import { addressOf, type RedisSettings } from '../redis/connect.ts';
import { judgeRedis, type RedisRules } from '../redis/suitability.ts';
import { withPauses } from './audit.ts';
import { explainHold, type Status } from './answers/account-schemas.ts';
import { headlineOf } from './answers/headline.ts';
import { readFleet, type FleetSource } from './snapshot.ts';

export type { Status };

/** What is shown of the account beside what is read, and what Redis is judged by. */
export interface StatusTarget {
  readonly redis: RedisSettings & { readonly prefix: string };
  readonly account: string;
  readonly redisWatch: RedisRules;
}

export async function readStatus(
  source: FleetSource,
  { account, redisWatch, redis: settings }: StatusTarget,
): Promise<Status> {
  const found = await readFleet(
    source,
    'noticeJobs',
    'noticeWaitingSince',
    'possiblySentTwice',
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
  const ofAll = { pending: found.unsentContacts, unknown: found.unknownContacts };
  const ledger = new Ledger(source.redis, source.keys);
  const summary = await summarizeBatches(ledger, ofAll, found);
  const batches = { ...summary, openBatches: await withPauses(source, summary.openBatches) };
  const status = {
    now: found.now,
    account,
    prefix: settings.prefix,
    jobs: found.noticeJobs,
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
    redis: { ...redis, address: addressOf(settings), findings: judgeRedis(redis, redisWatch) },
  };
  return { headline: headlineOf(status), ...status };
}

/** Batches that are read for the summary: a command each. */
const NEWEST = 200;

/** Open batches that are listed. */
const LISTED = 10;

/** Lists with rejected contacts that are named, those rejected throughout and the latest first: a command each. */
const REFUSED = 5;

/** Summarizes the newest batches. @param ofAll contacts of all batches that wait, and those whose outcome is unknown */
export async function summarizeBatches(
  ledger: Pick<Ledger, 'list' | 'isImporting' | 'nextAttempt'> & GroupSource,
  ofAll: Pick<Status['batches'], 'pending' | 'unknown'>,
  fleet: SendingFleet & { readonly now: number },
): Promise<Status['batches']> {
  const batches = await ledger.list(NEWEST);
  const open = batches.filter(
    ({ phase, counts }) => phase !== 'finished' && (phase !== 'cancelled' || counts.pending > 0),
  );
  const held = new Set(fleet.templateHolds.map(({ template }) => template));
  const openBatches = await Promise.all(
    open.slice(0, LISTED).map(async (batch) => {
      const { id, phase, counts, startAt } = batch;
      const isRead = batch.importedAt !== 0 || phase === 'cancelled';
      const importing = !isRead && (await ledger.isImporting(id));
      const around = { ...fleet, importing };
      const { standstill: waits, stalled } = await readMotion(ledger, batch, around, fleet.now);
      const stopped = !isRead && !importing;
      return {
        id,
        phase,
        total: counts.total,
        pending: counts.pending,
        ...(startAt > 0 ? { startAt } : {}),
        ...(waits === undefined ? {} : { waits }),
        stalled,
        ...(held.has(batch.templateCode) ? { heldTemplate: batch.templateCode } : {}),
        ...(stopped ? { continueImport: continueImport(batch) } : {}),
      };
    }),
  );
  const rejected = batches.reduce((sum, { counts }) => sum + counts.rejected, 0);
  const refused = await readRefused(ledger, batches);
  return { ...ofAll, open: open.length, openBatches, rejected, refused };
}

async function readRefused(
  ledger: GroupSource,
  batches: readonly Batch[],
): Promise<Status['batches']['refused']> {
  const isThroughout = ({ counts }: Batch) => Number(counts.rejected === counts.total);
  const some = batches
    .filter(({ counts }) => counts.rejected > 0)
    .sort((a, b) => isThroughout(b) - isThroughout(a) || b.movedAt - a.movedAt)
    .slice(0, REFUSED);
  return Promise.all(
    some.map(async (batch) => {
      const { id, counts, movedAt } = batch;
      const groups = await groupFailures(ledger, batch, { state: 'rejected' });
      const { total, rejected } = counts;
      return { id, total, rejected, code: groups[0]?.code ?? '', movedAt };
    }),
  );
}
