import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { UnrecoverableError, type Job } from 'bullmq';
import type { Claim } from '../../src/batch/ledger/settlement.ts';
import { readChunkJob, type ChunkJobData } from '../../src/contracts/chunk-job.ts';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import type { Permit } from '../../src/fleet/rate-limit/permit-queue.ts';
import { ChunkRun, type ChunkContext, type ChunkResult } from './chunk-run.ts';
import { Cancellation } from '../../src/async/cancellation.ts';
import { requeue, delayJob, withoutStack } from './disposition.ts';

/**
 * Runs the job of one chunk once: pass the gate, take a slot of the pace, claim, send, settle. The slot
 * comes before the claim: a worker that dies while it waits leaves no chunk that may have been sent.
 *
 * The ledger is the truth: without a claim nothing is sent, and what became of the chunk is told to
 * it before BullMQ hears anything. A job that is done, lost or sent twice changes nothing there.
 */
export async function runChunk(
  job: Job,
  lockToken: string | undefined,
  signal: AbortSignal | undefined,
  parts: ChunkContext,
): Promise<ChunkResult> {
  const data = chunkOf(job);
  const guard = parts.lockGuard.guard(job);
  const abort = new Cancellation(parts.stopping, signal);
  let slot: Permit | undefined;
  try {
    if (abort.aborted) requeue();
    const passage = await parts.gate.enter();
    if (passage === undefined) requeue();
    slot = await parts.rateLimit.take(abort);
    if (slot === undefined) {
      await parts.gate.leave(undefined, passage);
      requeue();
    }
    const nonce = `${process.pid}-${randomBytes(9).toString('base64url')}`;
    const lock = { key: parts.lockKey(job.id ?? ''), token: lockToken ?? '' };
    const claim = await claimOrNothing(data, nonce, lock, guard.owned, abort, parts);
    if (claim?.kind !== 'send') {
      await parts.gate.leave(undefined, passage);
      return await withoutClaim(job, lockToken, claim);
    }
    const run = new ChunkRun(job, data, nonce, claim, guard.owned, abort, parts);
    return await run.finish(lockToken, passage, slot);
  } finally {
    slot?.release();
    guard.release();
  }
}

function chunkOf(job: Job): ChunkJobData {
  try {
    return readChunkJob(job.data);
  } catch (error) {
    const text = error instanceof NoticeQueueError ? error.message : '';
    throw withoutStack(new UnrecoverableError(`JOB_INVALID: ${text}`));
  }
}

/** Time between two tries of a claim that Redis did not answer. */
const CLAIM_AGAIN_MS = 200;

/**
 * Claims the chunk. A claim whose answer was lost may stand, so it is asked for again under the same
 * nonce, for as long as the job is surely ours; then the job goes back and nothing is sent.
 */
async function claimOrNothing(
  { batch, chunk }: ChunkJobData,
  nonce: string,
  lock: { key: string; token: string },
  owned: () => boolean,
  abort: Cancellation,
  { ledger, log }: ChunkContext,
): Promise<Claim | undefined> {
  for (let tries = 0; owned() && !abort.aborted; tries++) {
    try {
      return await ledger.claim(batch, chunk, nonce, lock);
    } catch (error) {
      if (tries === 0) log.trouble('claim', error);
    }
    await setTimeout(CLAIM_AGAIN_MS);
  }
  return undefined;
}

/** Ends a job whose chunk was not handed out. A paused batch gets its jobs anew when it is resumed. */
async function withoutClaim(
  job: Job,
  lockToken: string | undefined,
  claim: Exclude<Claim, { kind: 'send' }> | undefined,
): Promise<ChunkResult> {
  if (claim === undefined || claim.kind === 'lost') requeue();
  if (claim.kind === 'later')
    return delayJob(job, lockToken, claim.afterMs, 'the rate of the batch');
  return { outcome: claim.kind };
}
