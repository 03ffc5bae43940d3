import { Cancellation } from '../../../src/async/cancellation.ts';
import type { ClaimedLate } from '../../../src/batch/ledger/settlement.ts';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import { possiblySentAttempts } from '../../../src/contracts/possibly-sent.ts';
import type { Permit } from '../../../src/fleet/rate-limit/permit-queue.ts';
import { UnrecoverableError, type Job } from 'bullmq';
import { NoticeQueueError } from '../../../src/contracts/errors.ts';
import { readChunkJob, type ChunkJobData } from '../../../src/contracts/chunk-job.ts';
import { delayJob, requeue, withoutStack } from '../disposition.ts';
import type { LockedJob } from '../disposition.ts';
import { ChunkAttempt, type ChunkContext, type ChunkResult } from './chunk-attempt.ts';

/**
 * Runs the job of one chunk once: enter the gate, take a permit of the rate limit, claim, send, settle.
 * The permit comes before the claim: a worker that dies while it waits leaves no chunk that may have been
 * sent.
 *
 * The ledger decides: without a claim nothing is sent, and the result of the chunk is recorded there
 * before the job ends. A job that is done, lost or run twice changes nothing there.
 *
 * @param signal aborted when the lock of the job is lost
 */
export async function runChunk(
  locked: LockedJob,
  signal: AbortSignal | undefined,
  context: ChunkContext,
): Promise<ChunkResult> {
  const { job } = locked;
  const data = chunkOf(job);
  const { owned, release } = context.lockGuard.guard(job);
  const cancel = new Cancellation(context.stopping, signal);
  let permit: Permit | undefined;
  try {
    if (cancel.aborted) requeue();
    const passage = await context.gate.enter({
      job: job.id ?? '',
      possiblySent: () => possiblySentOf(job, data, context),
    });
    if (passage === undefined) requeue();
    if ('asideMs' in passage) return await delayJob(locked, passage.asideMs, 'others probe first');
    permit = await context.rateLimit.take(cancel);
    if (permit === undefined) {
      await context.gate.leave({ outcome: undefined }, passage, '');
      requeue();
    }
    const run = new ChunkAttempt({ locked, data, owned, cancel }, context);
    const claim = await run.claim();
    if (claim?.kind === 'send') return await run.finish(claim, passage, permit);
    await context.gate.leave({ outcome: undefined }, passage, '');
    if (claim?.kind === 'expired' || claim?.kind === 'parked') logEnd(job, data, claim, context);
    // A paused batch gets new jobs when it is resumed.
    if (claim === undefined || claim.kind === 'lost') requeue();
    if (claim.kind === 'later') {
      return await delayJob(locked, claim.afterMs, 'the rate of the batch');
    }
    return { outcome: claim.kind };
  } finally {
    permit?.release();
    release();
  }
}

/** Logs and counts the end of a chunk that its claim settled, as that of a single notice that is not sent any more. */
function logEnd(
  job: Job,
  { batch, chunk }: ChunkJobData,
  { kind, size: contacts, possiblySent, code }: ClaimedLate,
  { log }: Pick<ChunkContext, 'log'>,
): void {
  const outcome: Outcome =
    kind === 'expired' && possiblySent === 0
      ? { kind: 'expired' }
      : { kind: 'unknown', code, earlier: true };
  log.begin(job).end(outcome, undefined, { batch, chunk, contacts, possiblySent });
}

/** What {@link Entrant} counts, earlier jobs of the chunk included. */
async function possiblySentOf(
  job: Job,
  { batch, chunk }: ChunkJobData,
  { ledger }: Pick<ChunkContext, 'ledger'>,
): Promise<number> {
  const { delivery, possiblySent } = await ledger.historyOf(batch, chunk);
  const sent = Math.max(possiblySent, possiblySentAttempts(job));
  return sent + (delivery === 'at-most-once' ? 1 : 0);
}

/** The data of a chunk's job; one that cannot be read fails for good. */
function chunkOf(job: Job): ChunkJobData {
  try {
    return readChunkJob(job.data);
  } catch (error) {
    const text = error instanceof NoticeQueueError ? error.message : '';
    throw withoutStack(new UnrecoverableError(`JOB_INVALID: ${text}`));
  }
}
