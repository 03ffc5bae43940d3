import { settleWithRetry } from '../../src/async/repeat.ts';
import type { Ledger } from '../../src/batch/ledger/ledger.ts';
import { allFailed, type Claim, type Settlement } from '../../src/batch/ledger/settlement.ts';
import type { ChunkJobData } from '../../src/contracts/job.ts';
import { type Outcome, newestTraceIds, withTraceIds } from '../../src/contracts/outcome.ts';
import type { JobHistories } from '../../src/fleet/job-history.ts';
import {
  encodeContacts,
  noteOrigins,
  readOrigins,
  type openChunk,
} from '../../src/payload/chunk-payload.ts';
import { batchSeal, type Sealing } from '../../src/payload/seal.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import type { JobLock, JobLocks } from '../queue/job-locks.ts';
import type { AttemptContext } from './attempt.ts';
import { mayBeOneContact, type Attempted } from './gate-job.ts';
import { isSettled, settlementOf } from './chunk-settlement.ts';
import { applyOutcome, detailOf, requeue, type LockedJob } from './disposition.ts';
import type { JobReturns } from './job-returns.ts';
import type { ListTemplates } from './take-back.ts';

/** What the jobs of chunks need; a worker process composes it once. */
export interface ChunkContext extends AttemptContext {
  readonly service: Pick<ServiceClient, 'sendBytes'>;
  readonly ledger: Pick<Ledger, 'claim' | 'halve' | 'redrive' | 'settle'>;
  readonly histories: Pick<JobHistories, 'read' | 'forget'>;
  /** Templates of the lists that this process has seen. */
  readonly templates: ListTemplates;
  readonly locks: Pick<JobLocks, 'of'>;
  readonly returns: Pick<JobReturns, 'returnJob'>;
  readonly sealing: Sealing;
  /** The Redis key of a job's lock in BullMQ. */
  readonly lockKey: (jobId: string) => string;
  /** UNKNOWN_RESENDS */
  readonly unknownResends: number;
}

/** The result of a chunk's job; the ledger has the rest. */
export interface ChunkResult {
  readonly outcome: string;
}

/** A run of the job of a chunk. */
export interface ChunkRun {
  readonly locked: LockedJob;
  readonly data: ChunkJobData;
  readonly lock: JobLock;
  /** Names the claim. */
  readonly nonce: string;
  /** No attempt is left after this one. */
  readonly lastAttempt: boolean;
}

/** A claim that allows a chunk to be sent. */
export type SendClaim = Extract<Claim, { kind: 'send' }>;

/** Records the result of the request in the ledger, and ends the job: done where no attempt follows. */
export async function recordChunk(
  run: ChunkRun,
  claim: SendClaim,
  opened: Awaited<ReturnType<typeof openChunk>>,
  { outcome, answer }: Attempted,
  context: ChunkContext,
): Promise<ChunkResult> {
  const { data, lastAttempt } = run;
  const { size, delivery } = claim;
  const seal = batchSeal(context.sealing, data.batch);
  const encode = (some: readonly unknown[]) => encodeContacts(some, seal);
  const detail = detailOf(answer);
  const traceIds = (kind: string | undefined) => {
    const own = kind === 'unknown' && answer?.traceId !== undefined ? [answer.traceId] : [];
    return newestTraceIds([...claim.traceIds, ...own]);
  };
  if (claim.bisect && size > 1 && mayBeOneContact(outcome, answer?.status)) {
    const all = listOf(opened, size);
    if (all === undefined) {
      await settle(run, allFailed(size, 'rejected', 'PAYLOAD_UNREADABLE', detail), context);
      return { outcome: 'rejected' };
    }
    await halve(run, all, encode, traceIds('rejected'), context);
    return { outcome: 'halved' };
  }
  const kept = withTraceIds(detail, traceIds(outcome?.kind));
  const ended = { outcome, size, delivery, lastAttempt, detail: kept };
  const { rows } = readOrigins(opened.origins);
  const settlement = settlementOf(ended);
  const failed = settlement.failed.map((part) => ({ ...part, rows: fewRows(rows) }));
  const as = { rows, traceId: answer?.traceId ?? '' };
  await settle(run, { ...settlement, failed, as }, context, traceIds('unknown'));
  return endChunk(run, outcome, claim, detail);
}

/**
 * Settles the chunk; repeated until Redis has answered.
 *
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
 *
 * @returns as {@link Ledger.halve}
 */
async function halve(
  { data: { batch, chunk }, nonce }: ChunkRun,
  contacts: readonly unknown[],
  encode: (contacts: readonly unknown[]) => Promise<Buffer>,
  traceIds: readonly string[],
  { ledger, log }: ChunkContext,
): ReturnType<Ledger['halve']> {
  const middle = Math.ceil(contacts.length / 2);
  const payloads = [
    await encode(contacts.slice(0, middle)),
    await encode(contacts.slice(middle)),
  ] as const;
  return settleWithRetry(
    () => ledger.halve(batch, chunk, nonce, middle, payloads, traceIds),
    (error) => log.trouble('settle', error),
  );
}

/** Rows for an event: not more than a person reads. */
const fewRows = (rows: string): string => (rows.length > 200 ? '' : rows);

/** Ends the job: done where the ledger has its final state, otherwise by {@link applyOutcome}. */
async function endChunk(
  { locked, lastAttempt }: ChunkRun,
  outcome: Outcome | undefined,
  { delivery, possiblySent }: SendClaim,
  detail: string,
): Promise<ChunkResult> {
  if (outcome === undefined) requeue();
  if (isSettled(outcome, delivery, lastAttempt)) return { outcome: outcome.kind };
  const endedUnknown = outcome.kind === 'unknown' ? 1 : 0;
  return applyOutcome(locked, outcome, {
    detail,
    sends: { possiblySent: possiblySent + endedUnknown, traceIds: [] },
  });
}

/**
 * The contacts of a payload, to be recorded one by one. Undefined where they are not the list that the ledger counts:
 * such a payload was not made by this program, and its parts would not add up to the chunk.
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
