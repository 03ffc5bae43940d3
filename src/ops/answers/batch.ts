import { z } from 'zod';
import { FAILED_STATES, groupFailures, type FailureGroup } from '../../batch/failures/failures.ts';
import { continueImport, readMotion, type BatchMotion } from '../../batch/ledger/batch-motion.ts';
import {
  BATCH_PHASES,
  expectedSpeed,
  type Batch,
  type BatchCounts,
} from '../../batch/ledger/batch-record.ts';
import { nearEndOfRetention } from '../../batch/ledger/retention.ts';
import { count, named, time } from '../../contracts/answer.ts';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { DELIVERY_POLICIES } from '../../contracts/outcome.ts';
import { redisFailure } from '../../redis/failure.ts';
import { pause, withPauses } from '../audit.ts';
import type { EntrySource } from '../entries.ts';
import { readFleet } from '../snapshot.ts';

const batchCounts = z
  .object({
    total: count,
    pending: count,
    sending: count.describe('pending contacts in an attempt that is in progress'),
    accepted: count,
    rejected: count,
    unknown: count,
    expired: count,
    cancelled: count,
    suppressed: count.describe('on the do-not-send list when they were to be sent'),
    possiblySentTwice: count.describe(
      'contacts sent again after an unknown outcome: the most messages that can have arrived twice; not a state',
    ),
  })
  .describe(
    'contacts by state; pending, accepted, rejected, unknown, expired, cancelled and suppressed add up to the total',
  ) satisfies z.ZodType<BatchCounts>;

/** Contacts that were not accepted, with the same state and code. */
export const failureGroup = named(
  'FailureGroup',
  z.object({
    state: z.enum(FAILED_STATES),
    code: z.string(),
    contacts: count,
    message: z.string().describe('message of the service for one of the contacts, masked'),
  }),
) satisfies z.ZodType<FailureGroup>;

export const batchAnswer = named(
  'Batch',
  z.object({
    id: z.string(),
    phase: z.enum(BATCH_PHASES),
    templateCode: z.string(),
    delivery: z.enum(DELIVERY_POLICIES),
    chunkSize: count.describe('contacts of a full chunk'),
    expiresAt: time.nullable(),
    rate: count.describe('limit in contacts per second; 0 for no limit'),
    counts: batchCounts,
    startAt: time.nullable().describe('when its sending starts, as long as it waits for that time'),
    startMissedAt: time
      .nullable()
      .describe('its start that was missed by more than an hour: a person resumes it'),
    paused: pause
      .exactOptional()
      .describe('who paused it, when and why; absent where it is not known, and for a sender'),
    begunAt: time,
    importedAt: time.nullable(),
    finishedAt: time.nullable(),
    movedAt: time.nullable().describe('its last progress'),
    keptUntil: time.nullable(),
    chunks: count,
    rows: count.describe('rows of the list that were read so far'),
    refusedRows: count,
    duplicateRows: count,
    stalled: z
      .boolean()
      .describe('no progress for more than a minute, and nothing is known that would explain it'),
    perSecond: z.number().min(0).describe('average contacts per second since its start'),
    restMs: z
      .number()
      .nullable()
      .describe('remaining time at that rate, in milliseconds; null where nothing of it is sent'),
    lossNear: z
      .object({ contacts: count, keptUntil: time, restMs: z.number() })
      .optional()
      .describe('contacts that were not accepted and will be deleted soon'),
  }),
);

/** A batch without its notice data, which may hold the number of a sender. */
export type BatchAnswer = z.output<typeof batchAnswer>;

export const batchReport = z.object({
  batch: batchAnswer,
  standstill: z
    .string()
    .nullable()
    .describe('why nothing is sent; null where the batch is sent or over'),
  continueImport: z
    .string()
    .nullable()
    .describe(
      'the command that continues its import, where that stopped before the end of the list; null for a sender',
    ),
  failures: z
    .array(failureGroup)
    .describe('what was not accepted, the largest group first; empty for a sender'),
});

export type BatchReport = z.output<typeof batchReport>;

/** The answer for a stored batch: what its schema does not name is left out. */
export function batchToJson(
  batch: Batch,
  now: number,
  { standstill, stalled }: BatchMotion,
): BatchAnswer {
  const { counts, begunAt, finishedAt, movedAt, phase } = batch;
  const tookMs = (finishedAt || now) - begunAt;
  const sent = counts.accepted + counts.rejected + counts.unknown;
  const perSecond = tookMs > 0 ? (sent * 1_000) / tookMs : 0;
  const moves = phase === 'sending' && perSecond > 0 && standstill === undefined;
  const answer: BatchAnswer = {
    ...batch,
    expiresAt: batch.expiresAt || null,
    // Negative where it waits for a person.
    startAt: batch.startAt > 0 ? batch.startAt : null,
    startMissedAt: batch.startMissedAt || null,
    importedAt: batch.importedAt || null,
    finishedAt: finishedAt || null,
    // A restart of a stalled batch counts as a move, but is no progress.
    movedAt: movedAt === batch.restartedAt ? null : movedAt,
    keptUntil: finishedAt > 0 ? finishedAt + batch.retentionMs : null,
    stalled,
    perSecond,
    restMs: moves ? (counts.pending / expectedSpeed(batch, perSecond)) * 1_000 : null,
    lossNear: nearEndOfRetention(batch, now),
  };
  return batchAnswer.parse(answer);
}

export function noSuchBatch(id: string): NoticeQueueError {
  return new NoticeQueueError(
    'NOT_FOUND',
    `No batch named "${id}" (it may have been deleted). "notices batches" lists all batches.`,
  );
}

/** @throws NoticeQueueError NOT_FOUND */
export async function requireBatch(
  { ledger }: Pick<EntrySource, 'ledger'>,
  id: string,
): Promise<Batch> {
  const batch = await ledger.read(id);
  if (batch === undefined) throw noSuchBatch(id);
  return batch;
}

/**
 * Reads a batch, what may block it and what was not accepted, with a fixed number of commands and one for each worker.
 *
 * @param role a sender does not see all of it
 * @throws NoticeQueueError NOT_FOUND
 */
export async function readBatch(
  { ledger, redis, keys }: EntrySource,
  id: string,
  role = 'operator',
): Promise<BatchReport> {
  const forSender = role === 'sender';
  try {
    const [isImporting, batch, { now, ...fleet }] = await Promise.all([
      // Before the batch: an import that ends in between has not stopped early.
      ledger.isImporting(id),
      requireBatch({ ledger }, id),
      readFleet({ redis, keys }, 'workers', 'hold', 'templateHolds', 'sendWindows', 'now'),
    ]);
    // A sender sees no path of a list: to it an import that stopped has not finished.
    const importing = isImporting || forSender;
    const motion = await readMotion(ledger, batch, { ...fleet, importing }, now);
    const shown = batchToJson(batch, now, motion);
    const [withPause = shown] = forSender ? [] : await withPauses({ redis, keys }, [shown], role);
    return {
      batch: withPause,
      standstill: motion.standstill ?? null,
      continueImport: batch.importedAt === 0 && !importing ? continueImport(batch) : null,
      failures: forSender ? [] : await groupFailures(ledger, batch),
    };
  } catch (error) {
    throw redisFailure(error);
  }
}
