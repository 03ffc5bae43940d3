import { randomBytes } from 'node:crypto';
import { UnrecoverableError, type Job } from 'bullmq';
import { pause } from '../../src/async/cancellation.ts';
import { allBack, type Claim } from '../../src/batch/ledger/settlement.ts';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { readChunkJob, type ChunkJobData } from '../../src/contracts/job.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import { isProbe } from '../../src/fleet/hold/hold-gate.ts';
import { heldName } from '../../src/contracts/hold.ts';
import { openChunk } from '../../src/payload/chunk-payload.ts';
import { PayloadKeyMissing } from '../../src/payload/seal.ts';
import { enter, leaveUnsent, runAttempt, type Entry } from './attempt.ts';
import {
  recordChunk,
  rejectUnreadable,
  settle,
  takeOutSuppressed,
  type ChunkContext,
  type ChunkRun,
  type SendClaim,
} from './chunk-record.ts';
import { delayJob, PUT_OFF, requeue, withoutStack, readHistory } from './disposition.ts';
import { untilDone, type GateJob } from './template-refusals.ts';

/** The body of the request of a chunk, without its contacts. */
type ChunkFrame = Readonly<Record<string, unknown>> & {
  readonly templateCode: string;
  readonly senderKey?: unknown;
  readonly chatSenderKey?: unknown;
};

/** Pause between two tries of a claim that Redis did not answer. */
const CLAIM_RETRY_MS = 200;

const MOST_LISTS = 1_000;

/**
 * Runs the job of one chunk once: read it, gate and permit, claim, send, decide, settle, and end the job by the
 * outcome. The permit comes before the claim: a worker that dies while it waits leaves no chunk that may have been
 * sent.
 *
 * The ledger decides: without a claim nothing is sent, and the result of the chunk is recorded there
 * before the job ends. A job that is done, lost or run twice changes nothing there.
 */
export async function runChunk(job: Job, context: ChunkContext): Promise<void> {
  const data = chunkOf(job);
  const lock = context.locks.of(job);
  let entry: Awaited<ReturnType<typeof enter>>;
  try {
    const { trouble } = await readHistory(job, context.histories, context.log);
    const gateJob = { ...gateJobOf(job, data, context), trouble };
    const nonce = `${process.pid}-${randomBytes(9).toString('base64url')}`;
    const lastAttempt = job.attemptsMade + 1 >= (job.opts.attempts ?? 1);
    const run = { job, data, lock, nonce, lastAttempt };
    entry = await enter(gateJob, context);
    if (entry === undefined) requeue();
    if ('putOffMs' in entry) return await putOff(run, entry.putOffMs, context);
    const askedAt = performance.now();
    const claim = await claimChunk(run, context);
    if (claim?.kind !== 'send') {
      await leaveUnsent(gateJob, entry, context);
      return await endUnclaimed(run, claim, context);
    }
    return await sendClaimed(run, claim, askedAt, gateJob, entry, context);
  } finally {
    if (entry !== undefined && 'permit' in entry) entry.permit.release();
    lock.release();
  }
}

async function sendClaimed(
  run: ChunkRun,
  claimed: SendClaim,
  askedAt: number,
  gateJob: GateJob,
  entry: Entry,
  context: ChunkContext,
): Promise<void> {
  const { job, data, lock } = run;
  const leaveFirst = async (error: unknown) => {
    await leaveUnsent(gateJob, entry, context);
    throw error;
  };
  const release = () => settle(run, allBack(false), context);
  let whole: Awaited<ReturnType<typeof openChunk>>;
  try {
    whole = await openChunk(claimed, data.batch, context.sealing);
  } catch (error) {
    await leaveUnsent(gateJob, entry, context);
    if (error instanceof PayloadKeyMissing) return context.returns.returnJob(job, release);
    context.log.trouble('payload', error);
    return rejectUnreadable(run, '', context);
  }
  const line = context.log.begin(job);
  const frame = JSON.parse(whole.frame) as ChunkFrame;
  const template = heldName(frame.templateCode, frame);
  const expiresAt = askedAt + (claimed.msToDeadline ?? Infinity);
  const isOnce = claimed.delivery === 'at-most-once';
  if (context.lists.size >= MOST_LISTS) context.lists.clear();
  context.lists.set(data.batch, { template, isOnce, expiresAt });
  const restMs = context.gate.restOf(template);
  if (gateJob.template === '' && restMs !== undefined) {
    // The first chunk of its list that this process has seen.
    await leaveUnsent(gateJob, entry, context);
    await release();
    return putOff(run, restMs, context);
  }
  const allowed = await takeOutSuppressed(run, claimed, whole, context).catch(leaveFirst);
  if (allowed === undefined) return leaveUnsent(gateJob, entry, context);
  const { claim, opened } = allowed;
  const { size, possiblySent } = claim;
  const attempted = await runAttempt(
    {
      job: {
        ...gateJob,
        template,
        rowId: `${data.batch} ${claim.root}`,
        isHalved: claim.bisect && size > 1,
      },
      send: (tokens, options) => context.service.sendBytes(frame, opened.contacts, tokens, options),
      isOnce,
      mayBegin: () => lock.valid() && performance.now() < expiresAt,
    },
    entry,
    context,
  );
  const outcome: Outcome | undefined =
    attempted.outcome?.kind === 'unknown' && possiblySent >= context.unknownResends
      ? { ...attempted.outcome, final: true }
      : attempted.outcome;
  line.end(outcome, attempted.answer, {
    batch: data.batch,
    chunk: data.chunk,
    contacts: size,
    probe: isProbe(entry),
    possiblySent,
  });
  return recordChunk(run, claim, opened, { ...attempted, outcome }, context);
}

/** Puts the chunk off; at its deadline it expires, whatever it waits for. */
async function putOff(run: ChunkRun, ms: number, context: ChunkContext): Promise<void> {
  const { expiresAt = Infinity } = context.lists.get(run.data.batch) ?? {};
  const restMs = Math.ceil(expiresAt - performance.now());
  if (restMs > 0) return delayJob(run.job, Math.min(ms, restMs), PUT_OFF);
  const claim = await claimChunk(run, context);
  if (claim?.kind !== 'send') return endUnclaimed(run, claim, context);
  await settle(run, allBack(false), context);
  return delayJob(run.job, CLAIM_RETRY_MS, PUT_OFF);
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

/** The chunk at the gate. Its template is known once this process has claimed a chunk of its list. */
function gateJobOf(
  job: Job,
  { batch, chunk }: ChunkJobData,
  { lists, ledger }: ChunkContext,
): GateJob {
  const list = lists.get(batch);
  return {
    id: job.id ?? '',
    template: list?.template ?? '',
    leavesProbes: list?.isOnce ?? true,
    runs: job.attemptsStarted,
    takeBack: () =>
      untilDone(
        async () => (await ledger.redrive(batch, String(chunk), 'rejected', '', true)) !== 'known',
      ),
  };
}

/**
 * Claims the chunk. A claim whose answer was lost may exist, so it is repeated with the same nonce,
 * as long as the job is surely ours.
 * @returns undefined when Redis did not answer in that time: nothing may be sent
 */
async function claimChunk(
  { job, data: { batch, chunk }, lock: jobLock, nonce }: ChunkRun,
  { ledger, lockKey, log, unknownResends, stopping }: ChunkContext,
): Promise<Claim | undefined> {
  const lock = { key: lockKey(job.id ?? ''), token: job.token ?? '' };
  for (let tries = 0; jobLock.valid() && !stopping.aborted; tries++) {
    try {
      return await ledger.claim(batch, chunk, nonce, lock, unknownResends);
    } catch (error) {
      if (tries === 0) log.trouble('claim', error);
    }
    await pause(CLAIM_RETRY_MS);
  }
  return undefined;
}

/** Ends the job of a chunk that may not be sent; logs and counts it where the claim has settled it. */
async function endUnclaimed(
  { job, data: { batch, chunk } }: ChunkRun,
  claim: Exclude<Claim, SendClaim> | undefined,
  { log }: ChunkContext,
): Promise<void> {
  // A paused batch gets new jobs when it is resumed.
  if (claim === undefined || claim.kind === 'lost') requeue();
  if (claim.kind === 'later') return delayJob(job, claim.afterMs, 'the rate of the batch');
  if (claim.kind === 'expired' || claim.kind === 'parked') {
    const { kind, size: contacts, possiblySent, code } = claim;
    const outcome: Outcome =
      kind === 'expired' && possiblySent === 0
        ? { kind: 'expired' }
        : { kind: 'unknown', code, earlier: true };
    log.begin(job).end(outcome, undefined, { batch, chunk, contacts, possiblySent });
  }
}
