import type { Job } from 'bullmq';
import { pause } from '../../src/async/cancellation.ts';
import { settleWithRetry } from '../../src/async/repeat.ts';
import type { Ledger } from '../../src/batch/ledger/ledger.ts';
import {
  allBack,
  allFailed,
  type Claim,
  type Settlement,
} from '../../src/batch/ledger/settlement.ts';
import type { ChunkJobData } from '../../src/contracts/job.ts';
import { newestTraceIds, withTraceIds } from '../../src/contracts/outcome.ts';
import type { JobHistories } from '../../src/fleet/job-history.ts';
import {
  encodeContacts,
  noteOrigins,
  openPayload,
  readOrigins,
  rowsOfContacts,
  type openChunk,
} from '../../src/payload/chunk-payload.ts';
import { batchSeal, type Sealing } from '../../src/payload/seal.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import type { SendCheck } from '../../src/suppression/send-check.ts';
import type { JobLock, JobLocks } from '../queue/send-worker.ts';
import type { AttemptContext } from './attempt.ts';
import {
  detailOf,
  endOf,
  REDIS_AGAIN_MS,
  requeue,
  tryAgain,
  type JobReturns,
} from './disposition.ts';
import { mayBeOneContact, type Attempted } from './template-refusals.ts';

/** What a process knows of a list before it claims a chunk of it. */
export interface SeenList {
  /** As in `GateJob.template`. */
  readonly template: string;
  readonly isOnce: boolean;
  /** Its deadline, by the monotonic clock; infinite without one. */
  readonly expiresAt: number;
}

export interface ChunkContext extends AttemptContext {
  readonly service: Pick<ServiceClient, 'sendBytes'>;
  readonly ledger: Pick<Ledger, 'claim' | 'halve' | 'redrive' | 'settle' | 'suppress'>;
  readonly histories: Pick<JobHistories, 'read'>;
  /** The lists that this process has seen, by the ids of their batches. */
  readonly lists: Map<string, SeenList>;
  readonly locks: Pick<JobLocks, 'of'>;
  readonly returns: Pick<JobReturns, 'returnJob'>;
  readonly doNotSend: Pick<SendCheck, 'isEmpty' | 'suppressed'>;
  readonly sealing: Sealing;
  readonly lockKey: (jobId: string) => string;
  readonly unknownResends: number;
}

export interface ChunkRun {
  readonly job: Job;
  readonly data: ChunkJobData;
  readonly lock: JobLock;
  readonly nonce: string;
  /** No attempt is left after this one. */
  readonly lastAttempt: boolean;
}

/** A claim that allows a chunk to be sent. */
export type SendClaim = Extract<Claim, { kind: 'send' }>;

/** What is left to be sent of a claimed chunk. */
interface Allowed {
  readonly claim: SendClaim;
  readonly opened: Awaited<ReturnType<typeof openChunk>>;
}

/**
 * Takes the contacts on the do-not-send list out of a claimed chunk: the ledger counts them as suppressed before the
 * request for the others, so that a worker that dies in between leaves a chunk without them.
 * @returns undefined where no request follows: the chunk is settled
 */
export async function takeOutSuppressed(
  run: ChunkRun,
  claim: SendClaim,
  opened: Allowed['opened'],
  context: ChunkContext,
): Promise<Allowed | undefined> {
  if (context.doNotSend.isEmpty) return { claim, opened };
  const { batch, chunk } = run.data;
  const { size, possiblySent, traceIds } = claim;
  const all = listOf(opened, size);
  if (all === undefined) {
    await rejectUnreadable(run, '', context);
    return undefined;
  }
  const hits = await context.doNotSend.suppressed(all);
  if (hits === undefined) {
    await pause(REDIS_AGAIN_MS);
    await settle(run, allBack(false), context);
    requeue();
  }
  if (hits.size === 0) return { claim, opened };
  const left = all.filter((_, index) => !hits.has(index));
  const seal = batchSeal(context.sealing, batch);
  const rest = left.length === 0 ? undefined : await encodeContacts(left, seal);
  const rows = rowsOfContacts(all.filter((_, index) => hits.has(index)));
  const taken = { size: hits.size, rows, rest };
  const said = await settleWithRetry(
    () => context.ledger.suppress(batch, chunk, run.nonce, size, taken, traceIds.at(-1)),
    (error) => context.log.trouble('suppress', error),
  );
  // Another run has the chunk, or a repeated command found nothing left of it: the next run sees which.
  if (said === 'known') requeue();
  const facts = { batch, chunk, contacts: hits.size, possiblySent };
  context.log.begin(run.job).end({ kind: 'suppressed' }, undefined, facts);
  if (rest === undefined) return undefined;
  const payload = await openPayload(rest, seal);
  return { claim: { ...claim, size: left.length }, opened: { frame: opened.frame, ...payload } };
}

/** Records the result of the request in the ledger, and ends the job: done where no attempt follows. */
export async function recordChunk(
  run: ChunkRun,
  claim: SendClaim,
  opened: Awaited<ReturnType<typeof openChunk>>,
  { outcome, answer }: Attempted,
  context: ChunkContext,
): Promise<void> {
  const { size } = claim;
  const detail = detailOf(answer);
  const own = answer?.traceId === undefined ? [] : [answer.traceId];
  const withOwn = newestTraceIds([...claim.traceIds, ...own]);
  if (claim.bisect && size > 1 && mayBeOneContact(outcome, answer?.status)) {
    const all = listOf(opened, size);
    if (all === undefined) return rejectUnreadable(run, detail, context);
    return halve(run, all, claim.traceIds, context);
  }
  const rows = readOrigins(opened.origins);
  const isUnknown = outcome?.kind === 'unknown';
  const end = endOf(outcome, claim.delivery === 'at-most-once', run.lastAttempt);
  const settlement: Settlement =
    end !== undefined && end.state !== 'suppressed'
      ? {
          ...end,
          state: end.state,
          kind: 'failed',
          message: withTraceIds(detail, isUnknown ? withOwn : claim.traceIds),
          // For an event: not more than a person reads.
          rows: rows.length > 200 ? '' : rows,
        }
      : outcome?.kind === 'accepted'
        ? { kind: 'accepted', rows, traceId: answer?.traceId ?? '' }
        : { kind: 'back', possiblySent: isUnknown };
  await settle(run, settlement, context, withOwn);
  if (settlement.kind !== 'back') return;
  await tryAgain(run.job, outcome, answer, claim.possiblySent + (isUnknown ? 1 : 0));
}

export async function rejectUnreadable(
  run: ChunkRun,
  detail: string,
  context: ChunkContext,
): Promise<void> {
  await settle(run, allFailed('rejected', 'PAYLOAD_UNREADABLE', detail), context);
}

/**
 * Settles the chunk; repeated until Redis has answered.
 * @param traceIds of the service, for what it may have accepted of what is sent again
 */
export async function settle(
  { data: { batch, chunk }, nonce }: ChunkRun,
  settlement: Settlement,
  { ledger, log }: ChunkContext,
  traceIds: readonly string[] = [],
): Promise<void> {
  await settleWithRetry(
    () => ledger.settle(batch, chunk, nonce, settlement, traceIds),
    (error) => log.trouble('settle', error),
  );
}

/**
 * Replaces the chunk by its halves, each with a job and attempts of its own: the service refuses it because of one of its
 * contacts, or of a few.
 */
async function halve(
  { data: { batch, chunk }, nonce }: ChunkRun,
  contacts: readonly unknown[],
  traceIds: readonly string[],
  { ledger, log, sealing }: ChunkContext,
): Promise<void> {
  const middle = Math.ceil(contacts.length / 2);
  const seal = batchSeal(sealing, batch);
  const payloads = [
    await encodeContacts(contacts.slice(0, middle), seal),
    await encodeContacts(contacts.slice(middle), seal),
  ] as const;
  await settleWithRetry(
    () => ledger.halve(batch, chunk, nonce, middle, payloads, traceIds),
    (error) => log.trouble('settle', error),
  );
}

/**
 * The contacts of a payload, to be halved or looked up. Undefined where they are not the list that the ledger counts: such a payload
 * was not made by this program, and its parts would not add up to the chunk.
 */
function listOf(
  { contacts, origins }: { readonly contacts: Buffer; readonly origins: string },
  size: number,
): readonly object[] | undefined {
  try {
    const list: unknown = JSON.parse(contacts.toString());
    if (!Array.isArray(list) || list.length !== size) return undefined;
    noteOrigins(list, origins);
    return list as object[];
  } catch {
    return undefined;
  }
}
