import type { BatchMotion } from '../../batch/ledger/batch-motion.ts';
import { expectedSpeed, type Batch } from '../../batch/ledger/batch-record.ts';
import { nearEndOfRetention } from '../../batch/ledger/retention.ts';
import type { BatchAnswer } from './batch-schemas.ts';

/** A batch as the API answers it. */
export function batchToJson(
  batch: Batch,
  now: number,
  { standstill, stalled }: BatchMotion,
): BatchAnswer {
  const { counts, begunAt, finishedAt, retentionMs, phase } = batch;
  const { id, templateCode, delivery, chunkSize, rate } = batch;
  const { chunks, rows, refusedRows, duplicateRows } = batch;
  const tookMs = (finishedAt > 0 ? finishedAt : now) - begunAt;
  const sent = counts.accepted + counts.rejected + counts.unknown;
  const perSecond = tookMs > 0 ? (sent * 1_000) / tookMs : 0;
  const moves = phase === 'sending' && perSecond > 0 && standstill === undefined;
  const lossNear = nearEndOfRetention(batch, now);
  return {
    id,
    phase,
    templateCode,
    delivery,
    chunkSize,
    expiresAt: orNull(batch.expiresAt),
    rate,
    counts: { ...counts },
    begunAt,
    importedAt: orNull(batch.importedAt),
    finishedAt: orNull(finishedAt),
    movedAt: orNull(batch.movedAt),
    keptUntil: finishedAt > 0 ? finishedAt + retentionMs : null,
    chunks,
    rows,
    refusedRows,
    duplicateRows,
    stalled,
    perSecond,
    restMs: moves ? (counts.pending / expectedSpeed(batch, perSecond)) * 1_000 : null,
    ...(lossNear === undefined ? {} : { lossNear: { ...lossNear } }),
  };
}

function orNull(at: number): number | null {
  return at === 0 ? null : at;
}
