import { HOLDS, type Hold } from '../../contracts/hold.ts';
import type { Batch } from './batch-record.ts';

/** What decides whether a batch can move. */
export interface BatchSurroundings {
  /** Worker processes that live. */
  readonly workers: number;
  readonly hold: Hold | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A batch whose import has stored nothing for so long is taken for one whose import has ended. */
const IMPORT_SILENCE_MS = 30_000;

/**
 * Why a batch does not move, and what to do about it, in one sentence; undefined where it moves or
 * is over. The first reason that applies is told: each of them alone keeps every contact back.
 *
 * | phase | contacts pending | surroundings | reason |
 * |---|---|---|---|
 * | finished, cancelled with none pending | | | none |
 * | paused | | | it is paused |
 * | importing | none | | it waits for its import |
 * | importing, sending | some | no worker | no worker runs |
 * | importing, sending | some | a hold | the hold's reason and remedy |
 * | cancelled | some | no worker | attempts under way when their worker ended |
 */
export function blockedReason(batch: Batch, around: BatchSurroundings): string | undefined {
  const { phase, counts, id } = batch;
  if (phase === 'finished') return undefined;
  if (phase === 'paused') return `it is paused; "notices resume ${id}" lets it go on`;
  if (counts.pending === 0)
    return phase === 'importing' ? waitsForImport(batch, around) : undefined;
  if (around.workers === 0) {
    return `no worker is running, so nothing is sent; start one with "notices worker"`;
  }
  if (phase === 'cancelled') return undefined;
  if (around.hold !== undefined) {
    const { reason, remedy } = HOLDS[around.hold.kind];
    return `the queue is held (${around.hold.kind}): ${reason}; ${remedy}`;
  }
  return undefined;
}

function waitsForImport({ movedAt, begunAt }: Batch, { now }: BatchSurroundings): string {
  const silentMs = now - Math.max(movedAt, begunAt);
  return silentMs < IMPORT_SILENCE_MS
    ? 'it waits for its import'
    : 'its import has not ended; where its process is gone, run the same command again: it goes on where it stood';
}
